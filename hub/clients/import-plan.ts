import { isDeepStrictEqual } from 'node:util';
import {
  type Config,
  type ConfigEditor,
  type Loosening,
  type ServerConfig,
  entryKeys,
  findLoosenings,
  isBuiltinName,
  warningsOf,
} from '#config';
import { HubError, type JsonObject, isObject } from '#core';
import { type ClientEntry, readClientEntry } from './client/entry.ts';
import { variablesOf } from './entry-variables.ts';
import { type ImportGrants, type MachinePaths, fitEntry } from './fit-entry.ts';
import { buildEntryOf } from './local-project.ts';
import type { FoundServer, FoundServers } from './find-servers.ts';
import { isHubEntry, pointsToHub } from './hub-entry.ts';
import { type Variable, createSecretExtractor, withVariables } from './secrets.ts';
import { translate } from './translate.ts';

/** A found server, and what an import does with it. */
export type ImportItem = { readonly found: FoundServer } & (
  | {
      readonly action: 'add';
      /** Name of the server in the hub. */
      readonly name: string;
      readonly entry: JsonObject;
      readonly server: ServerConfig;
      /** Settings that grant more than the default sandbox, except secrets that were in the client's file itself. */
      readonly loosenings: readonly Loosening[];
      /** Loosenings removed from the entry because they were not allowed. */
      readonly dropped: readonly Loosening[];
      /** Sentences about what the server may lack in a container. */
      readonly hints: readonly string[];
      /** Another server with the client's name for this one, and the keys that differ. */
      readonly conflict?: { readonly name: string; readonly differs: readonly string[] };
    }
  /** Present already: in the hub, or as the `twin` entry that this import adds. */
  | { readonly action: 'present'; readonly name: string; readonly twin?: FoundServer }
  | { readonly action: 'skip'; readonly why: string }
);

export type ImportPlan = {
  readonly items: readonly ImportItem[];
  /** Secrets from clients' files that move to `.env`. */
  readonly variables: readonly Variable[];
  /** Secrets from clients' files that the import stores as secrets of the hub. */
  readonly secrets?: readonly Variable[];
};

export type ImportNeeds = {
  readonly machine: MachinePaths;
  readonly grants: ImportGrants;
  readonly config: Config;
  readonly configFile: string;
  /** Text of `.env`; empty if the file does not exist. */
  readonly dotenv: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly hubUrl: string;
  /** Creates a config editor that can also expand these variables. */
  readonly editorWith: (variables: readonly Variable[]) => Pick<ConfigEditor, 'preview'>;
};

/** Plans an import: decides for each found server whether it is added. Writes nothing. */
export async function planImport(
  { servers }: Pick<FoundServers, 'servers'>,
  needs: ImportNeeds,
): Promise<ImportPlan> {
  const items: ImportItem[] = [];
  const variables: Variable[] = [];
  for (const found of servers) {
    const planned = await planOne(found, items, variables, needs);
    items.push(planned.item);
    variables.push(...planned.variables);
  }
  return { items, variables };
}

async function planOne(
  found: FoundServer,
  before: readonly ImportItem[],
  earlier: readonly Variable[],
  needs: ImportNeeds,
): Promise<{ readonly item: ImportItem; readonly variables: readonly Variable[] }> {
  const without = (item: ImportItem) => ({ item, variables: [] });
  const skip = (why: string) => without({ found, action: 'skip', why });
  if (pointsToHub(found.entry, { url: needs.hubUrl })) return skip('it is this hub');
  if (isHubEntry(found.name, found.entry))
    return skip(
      'it is another hub. If it is meant to be a server of this one, add it: agenthub add URL',
    );
  const clientEntry = readClientEntry(found.entry, found.client);
  if ('why' in clientEntry) return skip(clientEntry.why);
  const added = before.filter(item => item.action === 'add');
  const known = [...needs.config.servers, ...added.map(({ server }) => server)];
  const name = freeName(found.name, known);
  const converted = await hubEntryOf({ found, clientEntry, name, earlier }, needs);
  if ('why' in converted) return skip(converted.why);
  const { entry, variables, secretNames, remarks } = converted;
  let server: ServerConfig;
  try {
    const editor = needs.editorWith([...earlier, ...variables]);
    server = await editor.preview(needs.configFile, name, entry);
  } catch (error) {
    if (!(error instanceof HubError)) throw error;
    return skip(withoutPlace(error.message, name));
  }
  const missing = whyNotPlaced(server, entry);
  if (missing !== undefined) return skip(missing);
  const duplicate = known.find(
    other =>
      isDeepStrictEqual(identityOf(other), identityOf(server)) && hidesToolsOf(server, other),
  );
  if (duplicate) {
    const twin = added.find(item => item.server === duplicate)?.found;
    return without({ found, action: 'present', name: duplicate.name, ...(twin && { twin }) });
  }
  if (withVariables(needs.dotenv, [...earlier, ...variables]) === undefined)
    return skip('one of its keys cannot be written into .env. Set it there by hand');
  const rival = known.find(other => other.name === allowedName(found.name));
  const loosenings = findLoosenings(entry, server, known).filter(
    ({ kind, name: what }) =>
      kind !== 'variable' || !secretNames.has(what.slice('variable:'.length)),
  );
  return {
    item: {
      found,
      action: 'add',
      name,
      entry,
      server,
      loosenings,
      dropped: [],
      hints: [...remarks, ...warningsFor(server, needs)],
      ...(rival && { conflict: { name: rival.name, differs: differencesOf(rival, server) } }),
    },
    variables,
  };
}

type Importing = {
  readonly found: FoundServer;
  readonly clientEntry: ClientEntry;
  /** Name of the server in the hub. */
  readonly name: string;
  readonly earlier: readonly Variable[];
};

/**
 * Converts a client's entry to an entry of the hub, with variables for secrets. Returns a reason if that is impossible.
 */
async function hubEntryOf(
  { found, clientEntry, name, earlier }: Importing,
  { machine, grants, env, hubUrl }: ImportNeeds,
) {
  const secrets = createSecretExtractor(
    name,
    variable => earlier.find(each => each.name === variable)?.value ?? env[variable],
  );
  const base = clientEntry.cwd ?? found.folder;
  const folders = { home: machine.home, folder: found.folder ?? machine.folder };
  const translated = translate(clientEntry, found.client, folders, secrets);
  if ('why' in translated) return translated;
  const project = entryKeys.includes('build')
    ? await buildEntryOf(translated.entry, { find: machine.find, base })
    : undefined;
  if (project && 'why' in project) return project;
  const { entry, remarks } = await fitEntry((project ?? translated).entry, {
    machine,
    grants,
    name,
    remedy: `repeat this with --mount ${name}=FOLDER`,
    base,
    variables: [...earlier, ...secrets.variables],
    hasKey: secrets.names.size > 0,
  });
  const used = new Set(variablesOf(entry));
  return {
    entry,
    remarks: [...remarks, ...loginRemarks(entry, hubUrl)],
    /** Variables that contain the secrets of the entry from now on. */
    variables: secrets.variables.filter(variable => used.has(variable.name)),
    /** Names of all variables with secrets from the client's file, including those that were already set. */
    secretNames: secrets.names,
  };
}

/** Returns what the user must do if an entry has an OAuth client, which was registered for the MCP client only. */
function loginRemarks({ oauth }: JsonObject, hubUrl: string): readonly string[] {
  if (!isObject(oauth) || oauth['client_id'] === undefined) return [];
  const origin = hubUrl.replace(/^http:\/\/localhost(?=:|$)/, 'http://127.0.0.1');
  return [
    `its OAuth client must also allow the hub's redirect address, ${origin}/dashboard/oauth/callback: add it where the client is registered`,
  ];
}

/** Returns the reason why a server cannot run in a container; undefined if it can, or if it is remote. */
function whyNotPlaced({ launch }: ServerConfig, entry: JsonObject): string | undefined {
  const isPlaced =
    launch.kind === 'remote' ||
    launch.package !== undefined ||
    launch.image !== undefined ||
    entry['build'] !== undefined;
  return isPlaced
    ? undefined
    : (launch.noPackage ??
        `it runs ${JSON.stringify(launch.command)} from this machine, which containers do not have. Add it by hand with "image" or "package", or with "runtime": "process", which is not isolated`);
}

const maxNameLength = 32;

/** Returns a name for a server with only those characters of the client's name that the hub allows. */
const allowedName = (wanted: string) =>
  (wanted.replaceAll(/[^A-Za-z0-9_-]+/g, '-').replaceAll(/^[_-]+|-+$/g, '') || 'server').slice(
    0,
    maxNameLength,
  );

/** Returns the allowed name, with a number appended if another server or a built-in one has that name. */
function freeName(wanted: string, known: readonly ServerConfig[]): string {
  const allowed = allowedName(wanted);
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `-${number}`;
    const name = allowed.slice(0, maxNameLength - suffix.length) + suffix;
    if (!isBuiltinName(name) && !known.some(server => server.name === name)) return name;
  }
}

/** Removes the position from a message, as it refers to a text that is not written. */
const withoutPlace = (message: string, name: string) =>
  message.replace(/^\S+:\d+:\d+: /, '').replace(`servers.${name}.`, '');

/** Returns the parts of a config that identify the server, without its version and sandbox. */
function identityOf({ launch }: ServerConfig): Readonly<Record<string, unknown>> {
  if (launch.kind === 'remote') return { url: launch.url, headers: launch.headers };
  const { package: source, image, command, args, env } = launch;
  const name = source?.spec.replace(/(?<=.)@[^/@]*$|==.*$/, '');
  const build = 'build' in launch ? launch.build : undefined;
  return { package: name && `${source?.ecosystem} ${name}`, image, build, command, args, env };
}

/** True if all tools that an imported server hides are hidden by the other one too. */
function hidesToolsOf({ tools: wanted }: ServerConfig, { tools }: ServerConfig): boolean {
  const isDenied = (wanted?.deny ?? []).every(name => tools?.deny?.includes(name));
  const { allow } = wanted ?? {};
  return isDenied && (!allow || tools?.allow?.every(name => allow.includes(name)) === true);
}

/** Returns the keys in which two servers differ, without their values, which may be secret. */
function differencesOf(one: ServerConfig, other: ServerConfig): readonly string[] {
  const [first, second] = [identityOf(one), identityOf(other)];
  const keys = [...new Set([...Object.keys(first), ...Object.keys(second)])];
  const differing = keys.filter(key => !isDeepStrictEqual(first[key], second[key]));
  return hidesToolsOf(other, one) ? differing : [...differing, 'tools'];
}

function warningsFor(server: ServerConfig, { config }: ImportNeeds): readonly string[] {
  const prefix = `${server.name}: `;
  return (
    warningsOf({ ...config, servers: [server] })
      .filter(text => text.startsWith(prefix))
      .map(text => text.slice(prefix.length))
      // Ignore this warning, because an import pins the version.
      .filter(text => !text.includes('has no version'))
  );
}
