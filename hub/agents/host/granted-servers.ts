import { type Clock, waitAtMost } from '#core';
import { type Server, listKinds } from '#servers';
import type { AgentSettings } from '../agent-types.ts';

type GrantedServer = Pick<Server, 'config' | 'listing' | 'ready' | 'running'>;

/** Maximum time in ms that a list of tools waits for the servers that start. */
const startMs = 30_000;

/**
 * Starts the servers that grants name and that never ran: `/mcp`, where agents find their tools, lists a server only
 * after its first start. Resolves when these servers run or have failed, or after 30 s. Never rejects.
 */
export async function startGranted(
  { tools, servers: names }: Pick<AgentSettings['grants'], 'servers' | 'tools'>,
  servers: readonly GrantedServer[],
  clock: Pick<Clock, 'after'>,
): Promise<void> {
  const isNamed = (name: string) =>
    names.includes(name) || tools.some(pattern => isToolOf(name, pattern));
  const unlisted = servers.filter(
    ({ config, listing, running }) =>
      !running && listKinds.every(kind => listing[kind].length === 0) && isNamed(config.name),
  );
  if (unlisted.length === 0) return;
  // A server that does not start has no tools, and its state and log say why.
  await waitAtMost(startMs, Promise.allSettled(unlisted.map(server => server.ready())), clock);
}

/** True if a pattern such as `memory_*` begins with the name of a server, which tools on `/mcp` begin with. */
const isToolOf = (server: string, pattern: string): boolean =>
  pattern.startsWith(server) && /^[^A-Za-z0-9*]/.test(pattern.slice(server.length));
