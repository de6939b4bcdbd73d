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
  readonly problems: readonly HubError[];
};

/** Servers in the files of one command; more of them are no workstation. */
const maxServers = 500;

/** Reads the files of clients, of both scopes. What is wrong with one is told beside what the others hold. */
export async function findServers(names: readonly ClientName[], machine: Machine): Promise<Found> {
  const servers: FoundServer[] = [];
  const files: string[] = [];
  const problems: HubError[] = [];
  for (const client of clientNames.filter(name => names.includes(name))) {
    for (const scope of ['user', 'workspace'] as const) {
      try {
        const source = await existing(client, scope, machine);
        if (!source) continue;
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
  }
  if (servers.length > maxServers)
    throw new HubError(
      'HUB_USAGE',
      `the files name ${servers.length} servers, and at most ${maxServers} are imported at once. Name fewer clients`,
    );
  return { servers, files, problems };
}

async function existing(
  client: ClientName,
  scope: Scope,
  machine: Machine,
): Promise<ClientSource | undefined> {
  if (placeOf(client, scope, machine) === undefined) return undefined;
  const source = await sourceOf({ client, scope }, machine);
  return source.text === undefined ? undefined : source;
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
