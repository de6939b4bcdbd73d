import { isDeepStrictEqual } from 'node:util';
import {
  type Config,
  type ConfigEditor,
  type Loosening,
  type ServerConfig,
  findLoosenings,
  variablesIn,
  warningsOf,
} from '#config';
import { HubError, type Json, type JsonObject } from '#core';
import { readClientEntry } from './client/entry.ts';
import type { FoundServer, FoundServers } from './find-servers.ts';
import { isConnectEntry } from './hub-entry.ts';
import { type Variable, createSecretExtractor, withVariables } from './secrets.ts';
import { translate } from './translate.ts';

/** What an import does with a found server. */
export type ImportItem = { readonly found: FoundServer } & (
  | {
      readonly action: 'add';
      /** The server's name in the hub. */
      readonly name: string;
      readonly entry: JsonObject;
      readonly server: ServerConfig;
      /** Settings that grant more than the default sandbox, except secrets that were in the client's file itself. */
      readonly loosenings: readonly Loosening[];
      /** Loosenings removed from the entry because they were not allowed. */
      readonly dropped: readonly Loosening[];
      /** What the server may lack in a container, each as a sentence. */
      readonly hints: readonly string[];
    }
  | { readonly action: 'present'; readonly name: string }
  | { readonly action: 'skip'; readonly why: string }
);

export type ImportPlan = {
  readonly items: readonly ImportItem[];
  /** Secrets from clients' files that move to `.env`. */
  readonly variables: readonly Variable[];
  /** Secrets from clients' files that are stored as secrets of the hub. */
  readonly secrets?: readonly Variable[];
};

export type ImportNeeds = {
  readonly config: Config;
  readonly configFile: string;
  /** The text of `.env`; empty if the file does not exist. */
  readonly dotenv: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly folder: string;
  readonly hubUrl: string;
  /** Creates a config editor for which these variables are set too. */
  readonly editorWith: (variables: readonly Variable[]) => Pick<ConfigEditor, 'preview'>;
  /** Whether an absolute path exists on this machine. */
  readonly exists: (path: string) => Promise<boolean>;
};

/** Plans an import: decides for each found server whether it is added. Writes nothing. */
export async function planImport(
  { servers }: Pick<FoundServers, 'servers'>,
  needs: ImportNeeds,
): Promise<ImportPlan> {
  const items: ImportItem[] = [];
  const variables: Variable[] = [];
  const known = [...needs.config.servers];
  for (const found of servers) {
    const planned = await planOne(found, known, variables, needs);
    items.push(planned.item);
    variables.push(...planned.variables);
    if (planned.item.action === 'add') known.push(planned.item.server);
  }
  return { items, variables };
}

async function planOne(
  found: FoundServer,
  known: readonly ServerConfig[],
  earlier: readonly Variable[],
  needs: ImportNeeds,
): Promise<{ readonly item: ImportItem; readonly variables: readonly Variable[] }> {
  const without = (item: ImportItem) => ({ item, variables: [] });
  const skip = (why: string) => without({ found, action: 'skip', why });
  if (isConnectEntry(found.name, found.entry, { url: needs.hubUrl })) return skip('it is this hub');
  const clientEntry = readClientEntry(found.entry, found.client);
  if ('why' in clientEntry) return skip(clientEntry.why);
  const name = freeName(found.name, known);
  const valueOf = (variable: string) =>
    earlier.find(each => each.name === variable)?.value ?? needs.env[variable];
  const secrets = createSecretExtractor(name, valueOf);
  const translated = translate(clientEntry, found.client, needs, secrets);
  if ('why' in translated) return skip(translated.why);
  const { variables, names } = secrets;
  const { entry } = translated;
  let server: ServerConfig;
  try {
    const editor = needs.editorWith([...earlier, ...variables]);
    server = await editor.preview(needs.configFile, name, entry);
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    return skip(error.message);
  }
  const { launch } = server;
  if (launch.kind === 'local' && launch.package === undefined && launch.image === undefined)
    return skip(
      launch.noPackage ??
        `it runs ${JSON.stringify(launch.command)} from this machine, which containers do not have. Add it by hand with "image" or "package", or with "runtime": "process", which is not isolated`,
    );
  const duplicate = known.find(other => isDeepStrictEqual(identityOf(other), identityOf(server)));
  if (duplicate) return without({ found, action: 'present', name: duplicate.name });
  if (withVariables(needs.dotenv, [...earlier, ...variables]) === undefined)
    return skip('one of its keys cannot be written into .env. Set it there by hand');
  const hints = await hintsFor(server, variables, needs);
  const loosenings = findLoosenings(entry, server, known).filter(
    ({ kind, name: what }) => kind !== 'variable' || !names.has(what.slice('variable:'.length)),
  );
  return {
    item: { found, action: 'add', name, entry, server, loosenings, dropped: [], hints },
    variables,
  };
}

const maxNameLength = 32;

/** The client's name for the server in the characters that the hub allows, with a number if it is taken. */
function freeName(wanted: string, known: readonly ServerConfig[]): string {
  const allowed =
    wanted.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^[_-]+|-+$/g, '') || 'server';
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `-${number}`;
    const name = allowed.slice(0, maxNameLength - suffix.length) + suffix;
    if (!known.some(server => server.name === name)) return name;
  }
}

/** The part of a config that identifies the server, without its version and sandbox. */
function identityOf({ launch }: ServerConfig): object {
  if (launch.kind === 'remote') return { url: launch.url, headers: launch.headers };
  const { package: source, image, command, args, env } = launch;
  const name = source?.spec.replace(/(?<=.)@[^/@]*$|==.*$/, '');
  return { ecosystem: source?.ecosystem, name, image, command, args, env };
}

async function hintsFor(
  server: ServerConfig,
  variables: readonly Variable[],
  { config, exists }: ImportNeeds,
): Promise<readonly string[]> {
  const { launch, name } = server;
  const prefix = `${name}: `;
  const hints = warningsOf({ ...config, servers: [server] })
    .filter(text => text.startsWith(prefix))
    .map(text => text.slice(prefix.length));
  if (launch.kind === 'remote') return hints;
  const { network, mounts } = launch.sandbox;
  const hasAddress = [...launch.args, ...Object.values(launch.env)].some(text =>
    /^\w+:\/\//.test(text),
  );
  if (network === 'none' && (variables.length > 0 || hasAddress))
    hints.push(
      `it has ${variables.length > 0 ? 'a key' : 'an address'}, so it probably needs the network: add "network": "bridge"`,
    );
  for (const arg of launch.args) {
    const path = /(?:^|=)((?:\/|[A-Za-z]:[\\/]|~\/).*)$/.exec(arg)?.[1] ?? '';
    const isMounted = mounts.some(({ target }) => path === target || path.startsWith(`${target}/`));
    if (path !== '' && !isMounted && (await exists(path)))
      hints.push(
        `${JSON.stringify(path)} is not in its container: add "mounts": [${JSON.stringify(`${path}:${targetOf(path)}`)}], and append ":rw" to let it write there`,
      );
  }
  return hints;
}

/** The path in a container for a path with a drive letter. */
const targetOf = (path: string) =>
  path
    .replace(/^([A-Za-z]):/, (_, drive: string) => `/${drive.toLowerCase()}`)
    .replaceAll('\\', '/');

/** Whether a server (by its name in the hub) may have a setting beyond the default sandbox. */
export type IsAllowed = (server: string, loosening: Loosening) => boolean;

/**
 * Removes from a plan the loosenings that are not allowed. A server that cannot do without one is skipped.
 * Writes nothing.
 */
export async function tighten(
  plan: ImportPlan,
  isAllowed: IsAllowed,
  { config, configFile, editorWith }: Pick<ImportNeeds, 'config' | 'configFile' | 'editorWith'>,
): Promise<ImportPlan> {
  const editor = editorWith(plan.variables);
  const items = await Array.fromAsync(plan.items, async item => {
    const refused =
      item.action === 'add' ? item.loosenings.filter(one => !isAllowed(item.name, one)) : [];
    if (item.action !== 'add' || refused.length === 0) return item;
    const { found, name } = item;
    const skip = (why: string): ImportItem => ({ found, action: 'skip', why });
    const entry = withoutLoosenings(item, refused);
    try {
      const server = await editor.preview(configFile, name, entry);
      const left = findLoosenings(entry, server, config.servers).map(one => one.name);
      const required = refused.filter(one => left.includes(one.name));
      if (required.length > 0) return skip(cannotBeWithout(name, required));
      const loosenings = item.loosenings.filter(one => left.includes(one.name));
      return { ...item, entry, server, loosenings, dropped: refused };
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      return skip(error.message);
    }
  });
  const entries = items.flatMap(item => (item.action === 'add' ? [item.entry] : []));
  const used = new Set(entries.flatMap(variablesOf));
  return { items, variables: plan.variables.filter(({ name }) => used.has(name)) };
}

type Added = Extract<ImportItem, { readonly action: 'add' }>;

/** The entry without the keys that cause these loosenings. */
function withoutLoosenings({ entry, server }: Added, refused: readonly Loosening[]): JsonObject {
  const names = new Set(refused.map(({ name }) => name));
  const kinds = new Set(refused.map(({ kind }) => kind));
  const isRefused = (text: Json | undefined) =>
    typeof text === 'string' &&
    variablesIn(text).some(name => names.has(name) || names.has(`variable:${name}`));
  const {
    network,
    user,
    mounts,
    volumes,
    env,
    headers,
    allow_sensitive: allowSensitive,
    ...rest
  } = entry;
  // One for each mount: targets are unique.
  const ofMounts = findLoosenings(entry, server).filter(({ kind }) => kind === 'mount');
  const keptMounts = (Array.isArray(mounts) ? mounts : []).filter(
    (_, index) => !names.has(ofMounts[index]?.name ?? ''),
  );
  const kept = (texts: Json | undefined, isKept: (name: string, text: Json) => boolean) =>
    Object.fromEntries(
      Object.entries(objectOf(texts)).filter(([name, text]) => isKept(name, text)),
    );
  const lists = {
    mounts: keptMounts,
    volumes: kept(volumes, name => !names.has(`volume:${name}`)),
    env: kept(env, (_, text) => !isRefused(text)),
    headers: kept(headers, (name, text) => !names.has(`header:${name}`) && !isRefused(text)),
  };
  return {
    ...rest,
    ...(network !== undefined && !kinds.has('network') && { network }),
    ...(user !== undefined && !kinds.has('user') && { user }),
    ...(allowSensitive !== undefined &&
      !kinds.has('sensitive') && { allow_sensitive: allowSensitive }),
    ...Object.fromEntries(Object.entries(lists).filter(([, list]) => Object.keys(list).length > 0)),
  };
}

const objectOf = (value: Json | undefined): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value))
    : {};

const variablesOf = (value: Json): readonly string[] => {
  if (typeof value === 'string') return variablesIn(value);
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(variablesOf);
};

const cannotBeWithout = (server: string, required: readonly Loosening[]) =>
  `it cannot run without ${required.map(({ name }) => name).join(', ')}, which was not allowed. Add ${required.map(({ name }) => `--allow '${server}/${name}'`).join(' ')}`;
