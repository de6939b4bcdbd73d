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
import { readClientEntry } from './client/entry.ts';
import { withVariables } from './dotenv.ts';
import { type Variable, createSecretExtractor } from './extract-secrets.ts';
import type { FoundServer, FoundServers } from './find-servers.ts';
import { isConnectEntry } from './hub-entry.ts';
import { translate } from './translate.ts';

/** What an import does with a found server. */
export type ImportItem = { readonly found: FoundServer } & (
  | {
      readonly action: 'add';
      /** The server's name in the hub. */
      readonly name: string;
      readonly entry: JsonObject;
      readonly server: ServerConfig;
      /**
       * Settings that grant more than the default sandbox, except secrets that were in the client's file
       * itself.
       */
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

type PlannedItem = { readonly item: ImportItem; readonly variables: readonly Variable[] };

async function planOne(
  found: FoundServer,
  known: readonly ServerConfig[],
  earlier: readonly Variable[],
  needs: ImportNeeds,
): Promise<PlannedItem> {
  const skip = (why: string): PlannedItem => ({
    item: { found, action: 'skip', why },
    variables: [],
  });
  if (isConnectEntry(found.name, found.entry, { url: needs.hubUrl })) return skip('it is this hub');
  const clientEntry = readClientEntry(found.entry, found.client);
  if ('why' in clientEntry) return skip(clientEntry.why);
  const name = freeName(found.name, known);
  const valueOf = (variable: string) =>
    earlier.find(each => each.name === variable)?.value ?? needs.env[variable];
  const secrets = createSecretExtractor(name, valueOf);
  const translated = translate(clientEntry, found.client, needs, secrets);
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
        `it runs ${JSON.stringify(launch.command)} from this machine, which containers do not have. Add it by hand with "image" or "package", or with "runtime": "process", which is not isolated`,
    );
  const duplicate = known.find(other => isDeepStrictEqual(identityOf(other), identityOf(server)));
  if (duplicate) return { item: { found, action: 'present', name: duplicate.name }, variables: [] };
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
