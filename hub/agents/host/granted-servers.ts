import { type Clock, unlessAborted, waitAtMost } from '#core';
import { type Server, listKinds } from '#servers';
import type { AgentSettings } from '../agent-types.ts';

export type GrantedServer = Pick<Server, 'config' | 'listing' | 'ready' | 'running'>;

/** Maximum time in ms that a list of tools waits for the servers that start. */
const startMs = 30_000;

/**
 * Creates the function that starts the servers that grants name and that never ran: `/mcp`, where agents find their
 * tools, lists a server only after its first start. It resolves when these servers run or have failed, or after 30 s. It
 * does not wait again for a start that takes longer: an image that is built for minutes would delay each turn of an
 * agent. Rejects only with the reason of the signal; the servers start nevertheless.
 */
export function createGrantedStart(clock: Pick<Clock, 'after'>) {
  /** Servers whose current start takes longer than 30 s. */
  const slow = new WeakSet<GrantedServer>();
  return async (
    { tools, servers: names }: Pick<AgentSettings['grants'], 'servers' | 'tools'>,
    servers: readonly GrantedServer[],
    signal: AbortSignal,
  ): Promise<void> => {
    const known = servers.map(({ config }) => config.name);
    const granted = new Set([...names, ...tools.map(pattern => serverOf(pattern, known))]);
    const unlisted = servers.filter(
      ({ config, listing, running }) =>
        !running && listKinds.every(kind => listing[kind].length === 0) && granted.has(config.name),
    );
    const starting = new Set(unlisted);
    const start = async (server: GrantedServer): Promise<void> => {
      await server.ready().catch(() => undefined); // It then has no tools, and its state and log say why.
      starting.delete(server);
      slow.delete(server);
    };
    const awaited = unlisted.flatMap(server => {
      const started = start(server);
      return slow.has(server) ? [] : started;
    });
    if (awaited.length === 0) return;
    await unlessAborted(waitAtMost(startMs, Promise.all(awaited), clock), signal);
    for (const server of starting) slow.add(server);
  };
}

/**
 * Returns the server of a pattern such as `memory_*`, which begins with the name of the server and a separator. Of two
 * servers such as `files` and `files_old`, the one with the longer name has the tools `files_old_*` (`decisions/0009`).
 */
const serverOf = (pattern: string, names: readonly string[]): string | undefined =>
  names
    .filter(name => pattern.startsWith(name) && /^[_.]/.test(pattern.slice(name.length)))
    .toSorted((a, b) => b.length - a.length)[0];
