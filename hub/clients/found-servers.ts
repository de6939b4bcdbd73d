import { access } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { HubError } from '#core';
import { type ClientName, type Scope, clientNames, clients } from './client.ts';
import type { ClientSource } from './client-text.ts';
import { serversIn, sourceOf } from './connection.ts';
import { type Machine, placeOf } from './places.ts';

/** A server that stands in a file of a client. */
export type FoundServer = {
  readonly client: ClientName;
  readonly source: ClientSource;
  /** Where the servers of that place stand in the file. */
  readonly path: readonly string[];
  readonly name: string;
  readonly entry: unknown;
};

/** What the files of some clients say, and what could not be read of them. */
export type Found = {
  readonly servers: readonly FoundServer[];
  /** Files that were there, or were named. */
  readonly files: readonly string[];
  /** Files of the workspace that are there and were not named: whoever wrote the project wrote them. */
  readonly unread: readonly string[];
  readonly problems: readonly HubError[];
};

/** Servers in the files of one command; more of them are no workstation. */
const maxServers = 500;

/** Which files are read. A project's are read only where a person names them. */
export type Wanted = {
  readonly names: readonly ClientName[];
  readonly scopes: readonly Scope[];
  /** Files of projects, as paths. */
  readonly paths: readonly string[];
};

/** Reads the files of clients. What is wrong with one is told beside what the others hold. */
export async function findServers(wanted: Wanted, machine: Machine): Promise<Found> {
  const servers: FoundServer[] = [];
  const files: string[] = [];
  const problems: HubError[] = [];
  for (const place of placesOf(wanted, machine)) {
    try {
      const { client, scope } = place;
      const source = await sourceOf(place, machine);
      if (source.text === undefined && !place.isNamed) continue;
      if (source.text === undefined)
        throw new HubError('HUB_USAGE', `${source.file}: there is no such file`);
      files.push(source.file);
      for (const path of pathsIn(client, scope, machine)) {
        const entries = Object.entries(await serversIn(source, client, path));
        servers.push(...entries.map(([name, entry]) => ({ client, source, path, name, entry })));
      }
    } catch (error) {
      if (!(error instanceof HubError)) throw error;
      problems.push(error);
    }
  }
  const unread = await unreadOf(files, machine);
  if (servers.length > maxServers)
    throw new HubError(
      'HUB_USAGE',
      `the files name ${servers.length} servers, and at most ${maxServers} are imported at once. Name fewer clients`,
    );
  return { servers, files, unread, problems };
}

type Place = {
  readonly client: ClientName;
  readonly scope: Scope;
  readonly file: string;
  readonly isNamed: boolean;
};

function placesOf({ names, scopes, paths }: Wanted, machine: Machine): readonly Place[] {
  const found: Place[] = paths.map(path => {
    const file = absolute(path, machine);
    return { client: clientOfFile(file), scope: 'workspace', file, isNamed: true };
  });
  for (const client of clientNames.filter(name => names.includes(name)))
    for (const scope of scopes) {
      const file = placeOf(client, scope, machine);
      if (file !== undefined && !found.some(other => other.file === file))
        found.push({ client, scope, file, isNamed: false });
    }
  return found;
}

/** Projects of two clients are written alike: the folder tells whose file it is. */
function clientOfFile(file: string): ClientName {
  const folder = basename(dirname(file));
  if (folder === '.vscode') return 'vscode';
  if (folder === '.cursor') return 'cursor';
  if (folder === '.codex' || file.endsWith('.toml')) return 'codex';
  return 'claude-code';
}

const absolute = (path: string, { home, folder }: Machine) =>
  resolve(
    folder,
    path.replace(/^~(?=$|[\\/])/, () => home),
  );

async function unreadOf(read: readonly string[], machine: Machine): Promise<readonly string[]> {
  const found: string[] = [];
  for (const client of clientNames) {
    const file = placeOf(client, 'workspace', machine);
    if (file === undefined || read.includes(file)) continue;
    // In the home folder the two are one.
    if (file === placeOf(client, 'user', machine)) continue;
    const isThere = await access(file).then(
      () => true,
      () => false,
    );
    if (isThere) found.push(file);
  }
  return found;
}

/** Claude Code has servers for one folder in the file of the user as well. */
function pathsIn(
  client: ClientName,
  scope: Scope,
  { folder }: Machine,
): readonly (readonly string[])[] {
  const { servers } = clients[client];
  return client === 'claude-code' && scope === 'user'
    ? [servers, ['projects', folder, ...servers]]
    : [servers];
}
