import { basename, dirname, resolve } from 'node:path';
import { HubError, isObject } from '#core';
import {
  type ClientMachine,
  type ClientName,
  type ClientScope,
  allConfigFiles,
  clients,
  configFileOf,
} from './client/client.ts';
import { exists } from './client/file.ts';
import { type ClientSource, valueAt, valueOf } from './client/text.ts';
import { serversIn, sourceOf } from './connect-plan.ts';

/** A server entry found in a client's file. */
export type FoundServer = {
  readonly client: ClientName;
  readonly source: ClientSource;
  /** Path of the object in the file that contains the server's entry. */
  readonly path: readonly string[];
  readonly name: string;
  readonly entry: unknown;
  /** Scope of the file. The file of a workspace was written by the project's author, not by the user. */
  readonly scope: ClientScope;
  /** Folder in which the client starts the server; undefined if that depends on how the client is started. */
  readonly folder: string | undefined;
};

/** The servers found in clients' files. */
export type FoundServers = {
  readonly servers: readonly FoundServer[];
  /** Paths of the files that were read. */
  readonly files: readonly string[];
  /**
   * Workspace files that exist but were not read, because the user did not name them and the project's author wrote
   * them.
   */
  readonly unread: readonly string[];
  readonly problems: readonly HubError[];
};

/** Maximum number of servers in one import. */
const maxServers = 500;

/** Selection of files to read. Files of projects are read only if the user names them. */
export type ImportSelection = {
  readonly names: readonly ClientName[];
  readonly scopes: readonly ClientScope[];
  /** Paths of files in projects. */
  readonly paths: readonly string[];
};

/** Reads clients' files. Returns problems with single files together with the servers of the remaining files. */
export async function findServers(
  selection: ImportSelection,
  machine: ClientMachine,
): Promise<FoundServers> {
  const servers: FoundServer[] = [];
  const files: string[] = [];
  const tried: string[] = [];
  const problems: HubError[] = [];
  for (const location of locationsOf(selection, machine)) {
    try {
      const { client, scope } = location;
      const source = await sourceOf(location, machine);
      if (source.text === undefined && !location.isNamed) continue;
      if (source.text === undefined)
        throw new HubError('HUB_USAGE', `${source.file}: there is no such file`);
      tried.push(source.file);
      for (const { path, folder } of await groupsIn(source, client, scope, machine)) {
        const entries = Object.entries(await serversIn(source, client, path));
        const about = { client, source, path, scope, folder };
        servers.push(...entries.map(([name, entry]) => ({ ...about, name, entry })));
      }
      files.push(source.file);
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      problems.push(error);
    }
  }
  const unread = await unreadOf(tried, machine);
  if (servers.length > maxServers)
    throw new HubError(
      'HUB_USAGE',
      `the files name ${servers.length} servers, and at most ${maxServers} are imported at once. Name fewer clients`,
    );
  return { servers, files, unread, problems };
}

/** Returns the files to read, each once. */
function locationsOf({ names, scopes, paths }: ImportSelection, machine: ClientMachine) {
  const own = allConfigFiles(machine);
  const named = paths.map(path => {
    const file = absolute(path, machine);
    const known = own.find(one => one.file === file);
    return {
      ...(known ?? { client: clientOfFile(file), scope: 'workspace' as const, file }),
      isNamed: true,
    };
  });
  const usual = own
    .filter(({ client, scope }) => names.includes(client) && scopes.includes(scope))
    .map(place => ({ ...place, isNamed: false }));
  const all = [...named, ...usual];
  return all.filter(
    ({ file, isNamed }, at) => isNamed || all.findIndex(other => other.file === file) === at,
  );
}

/** Returns the client that a project's file belongs to, by its folder, because two clients use the same format. */
function clientOfFile(file: string): ClientName {
  const folder = basename(dirname(file));
  if (folder === '.vscode') return 'vscode';
  if (folder === '.cursor') return 'cursor';
  if (folder === '.codex' || file.endsWith('.toml')) return 'codex';
  if (folder === '.gemini') return 'gemini-cli';
  if (folder === '.qwen') return 'qwen-code';
  if (/^opencode\.jsonc?$/.test(basename(file))) return 'opencode';
  return 'claude-code';
}

const absolute = (path: string, { home, folder }: ClientMachine) =>
  resolve(
    folder,
    path.replace(/^~(?=$|[\\/])/, () => home),
  );

async function unreadOf(
  read: readonly string[],
  machine: ClientMachine,
): Promise<readonly string[]> {
  const found: string[] = [];
  for (const { client, scope, file } of allConfigFiles(machine)) {
    // A workspace in the home folder has the same files as the user.
    const isOwn = scope === 'user' || file === configFileOf(client, 'user', machine);
    if (isOwn || read.includes(file)) continue;
    if (await exists(file)) found.push(file);
  }
  return found;
}

/**
 * Returns the objects in a file that contain servers. The user's file of Claude Code has one for each project too, of
 * which the current project comes first.
 */
async function groupsIn(
  source: ClientSource,
  client: ClientName,
  scope: ClientScope,
  { folder: current }: ClientMachine,
): Promise<readonly Pick<FoundServer, 'path' | 'folder'>[]> {
  const { servers } = clients[client];
  if (scope === 'workspace') return [{ path: servers, folder: projectOf(source.file) }];
  const own = { path: servers, folder: undefined };
  if (client !== 'claude-code') return [own];
  const projects = valueAt(source, await valueOf(source), ['projects']);
  // Only parse the servers of projects that have any, as the file is parsed again for each of them.
  const folders = Object.entries(isObject(projects) ? projects : {}).flatMap(([folder, project]) =>
    isObject(project) && Object.keys(Object(valueAt(source, project, servers))).length > 0
      ? [folder]
      : [],
  );
  const sorted = folders.toSorted((a, b) => Number(b === current) - Number(a === current));
  return [own, ...sorted.map(folder => ({ path: ['projects', folder, ...servers], folder }))];
}

/** Returns the folder of a project. Its file is directly in that folder, or in a client's folder such as `.cursor`. */
function projectOf(file: string): string {
  const folder = dirname(file);
  return basename(folder).startsWith('.') ? dirname(folder) : folder;
}
