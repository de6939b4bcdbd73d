import { isDeepStrictEqual } from 'node:util';
import {
  type Config,
  type ConfigEditor,
  type Loosening,
  type ServerConfig,
  findLoosenings,
  warningsOf,
} from '#config';
import { HubError, type JsonObject } from '#core';
import { withVariables } from './dotenv.ts';
import { readForeignEntry } from './foreign-entry.ts';
import type { Found, FoundServer } from './found-servers.ts';
import { isOfConnect } from './hub-entry.ts';
import { type Variable, createSecretValues } from './secret-values.ts';
import { translate } from './translate.ts';

/** What becomes of a server that was found. */
export type ImportItem = { readonly found: FoundServer } & (
  | {
      readonly action: 'add';
      /** How the hub calls it. */
      readonly name: string;
      readonly entry: JsonObject;
      readonly server: ServerConfig;
      /** What gives it more than the default sandbox; keys that stood in the client's file itself do not. */
      readonly loosenings: readonly Loosening[];
      /** Loosenings that were left out of the entry, as they were not allowed. */
      readonly dropped: readonly Loosening[];
      /** What it may lack in a container, each as a sentence. */
      readonly hints: readonly string[];
    }
  | { readonly action: 'present'; readonly name: string }
  | { readonly action: 'skip'; readonly why: string }
);

export type ImportPlan = {
  readonly items: readonly ImportItem[];
  /** Keys that were in the files of clients, and go to `.env`. */
  readonly variables: readonly Variable[];
};

export type ImportNeeds = {
  readonly config: Config;
  readonly configFile: string;
  /** The text of `.env`; empty where there is none. */
  readonly dotenv: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
  readonly folder: string;
  readonly hubUrl: string;
  /** An editor of the config that finds these variables set besides those that are. */
  readonly editorWith: (variables: readonly Variable[]) => Pick<ConfigEditor, 'preview'>;
  /** True where this machine has something at an absolute path. */
  readonly exists: (path: string) => Promise<boolean>;
};

/** Decides what becomes of each server. Nothing is written. */
export async function planImport(
  { servers }: Pick<Found, 'servers'>,
  needs: ImportNeeds,
): Promise<ImportPlan> {
  const items: ImportItem[] = [];
  const variables: Variable[] = [];
  const known = [...needs.config.servers];
  for (const found of servers) {
    const own = await planOne(found, known, variables, needs);
    items.push(own.item);
    variables.push(...own.variables);
    if (own.item.action === 'add') known.push(own.item.server);
  }
  return { items, variables };
}

type Own = { readonly item: ImportItem; readonly variables: readonly Variable[] };

async function planOne(
  found: FoundServer,
  known: readonly ServerConfig[],
  earlier: readonly Variable[],
  needs: ImportNeeds,
): Promise<Own> {
  const skip = (why: string): Own => ({ item: { found, action: 'skip', why }, variables: [] });
  if (isOfConnect(found.name, found.entry, { url: needs.hubUrl })) return skip('it is this hub');
  const foreign = readForeignEntry(found.entry, found.client);
  if ('why' in foreign) return skip(foreign.why);
  const name = freeName(found.name, known);
  const valueOf = (variable: string) =>
    earlier.find(each => each.name === variable)?.value ?? needs.env[variable];
  const secrets = createSecretValues(name, valueOf);
  const translated = translate(foreign, found.client, needs, secrets);
  if ('why' in translated) return skip(translated.why);
  const { variables } = secrets;
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
        `it runs ${JSON.stringify(launch.command)} of this machine, which is in no container. Add it by hand with "image" or "package", or with "runtime": "process", which is not isolated`,
    );
  const same = known.find(other => isDeepStrictEqual(whatRuns(other), whatRuns(server)));
  if (same) return { item: { found, action: 'present', name: same.name }, variables: [] };
  if (withVariables(needs.dotenv, [...earlier, ...variables]) === undefined)
    return skip('one of its keys cannot be written into .env. Set it there by hand');
  const hints = await hintsFor(server, variables, needs);
  const loosenings = findLoosenings(entry, server, known).filter(
    ({ kind, name: what }) =>
      kind !== 'variable' || !secrets.names.has(what.slice('variable:'.length)),
  );
  return {
    item: { found, action: 'add', name, entry, server, loosenings, dropped: [], hints },
    variables,
  };
}

const longestName = 32;

/** The name that a client gave, as the hub allows it, with a number where there is one already. */
function freeName(wanted: string, known: readonly ServerConfig[]): string {
  const allowed =
    wanted.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^[_-]+|-+$/g, '') || 'server';
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `-${number}`;
    const name = allowed.slice(0, longestName - suffix.length) + suffix;
    if (!known.some(server => server.name === name)) return name;
  }
}

/** What makes a server what it is: neither its version nor its sandbox. */
function whatRuns({ launch }: ServerConfig): object {
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
  const warnings = warningsOf({ ...config, servers: [server] }).filter(text =>
    text.startsWith(`${name}: `),
  );
  const hints = warnings.map(text => text.slice(`${name}: `.length));
  if (launch.kind === 'remote') return hints;
  const { network, mounts } = launch.sandbox;
  const hasAddress = [...launch.args, ...Object.values(launch.env)].some(text =>
    /^\w+:\/\//.test(text),
  );
  if (network === 'none' && (variables.length > 0 || hasAddress))
    hints.push(
      `it has ${variables.length > 0 ? 'a key' : 'an address'}, so it mostly needs the network: add "network": "bridge"`,
    );
  for (const arg of launch.args) {
    const path = /(?:^|=)((?:\/|[A-Za-z]:[\\/]|~\/).*)$/.exec(arg)?.[1] ?? '';
    const isMounted = mounts.some(({ target }) => path === target || path.startsWith(`${target}/`));
    if (path !== '' && !isMounted && (await exists(path)))
      hints.push(
        `${JSON.stringify(path)} is not in its container: add "mounts": [${JSON.stringify(`${path}:${targetOf(path)}`)}], with ":rw" behind it where it is to write there`,
      );
  }
  return hints;
}

/** Where a container without drives has a path. */
const targetOf = (path: string) =>
  path
    .replace(/^([A-Za-z]):/, (_, drive: string) => `/${drive.toLowerCase()}`)
    .replaceAll('\\', '/');
