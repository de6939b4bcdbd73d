import { type Clock, type Log, messageOf } from '#core';
import { type LogLevel, keepsSessions, logLevels } from '#mcp';
import type { Running, Server } from '#servers';
import type { SessionState } from '../session.ts';

/**
 * The log level to restore. MCP has no way to restore the initial level of a server; most servers start with this one.
 */
const defaultLevel: LogLevel = 'info';

/** Time in ms for which a server keeps a level after the last request for it. */
const lingerMs = 60_000;

/** A level that clients without a session want: the number of their open requests, or the timer after the last one. */
type Floor = { requests: number; lingering: Disposable | undefined };

export type LogLevels = ReturnType<typeof createLogLevels>;

/** Sets each server to the most verbose level that any of its sessions wants. */
export function createLogLevels(
  sessions: () => Iterable<SessionState>,
  { log, clock }: { readonly log: Log; readonly clock: Pick<Clock, 'after'> },
) {
  const asked = new WeakMap<Running, LogLevel>();
  const floors = new WeakMap<Running, Map<LogLevel, Floor>>();

  function wantedOf(server: Server, running: Running): LogLevel | undefined {
    const wanted = new Set(floors.get(running)?.keys());
    for (const { endpoint, logLevel } of sessions())
      if (logLevel !== undefined && (endpoint === 'all' || endpoint.config === server.config))
        wanted.add(logLevel);
    return logLevels.find(level => wanted.has(level));
  }

  async function ask({ config }: Server, running: Running, wanted: LogLevel | undefined) {
    const before = asked.get(running);
    const level = wanted ?? (before && defaultLevel);
    if (level === undefined || level === before) return;
    asked.set(running, level);
    try {
      await running.upstream.request('logging/setLevel', { level }, config.callTimeoutMs);
    } catch (error) {
      // Allows another attempt, unless another level was set meanwhile.
      if (asked.get(running) === level) asked.delete(running);
      const fields = { server: config.name, level, error: messageOf(error) };
      log.warn(fields, 'the server refused the log level');
    }
  }

  /** True if a server supports `logging/setLevel`. Stateless servers get the level in each request instead. */
  const takesLevels = ({ serverInfo }: Running) =>
    keepsSessions(serverInfo) && 'logging' in serverInfo.capabilities;

  /**
   * Sends the wanted level to a server. Call this when a session sets a level or closes, and when the server restarts.
   */
  function update(server: Server): void {
    const { running } = server;
    if (running && takesLevels(running)) void ask(server, running, wantedOf(server, running));
  }

  /** Keeps the level while a request wants it, and for `lingerMs` after that. */
  function hold(server: Server, running: Running, level: LogLevel): Disposable {
    const held = floors.get(running) ?? new Map<LogLevel, Floor>();
    floors.set(running, held);
    const floor = held.get(level) ?? { requests: 0, lingering: undefined };
    held.set(level, floor);
    floor.requests++;
    floor.lingering?.[Symbol.dispose]();
    floor.lingering = undefined;
    return {
      [Symbol.dispose]() {
        if (--floor.requests > 0) return;
        floor.lingering = clock.after(lingerMs, () => {
          held.delete(level);
          if (server.running === running) update(server);
        });
      },
    };
  }

  return {
    update,
    /**
     * Sets a minimum level for a client that wants log messages for one request. The level holds until the returned
     * Disposable is disposed, and for one more minute, because similar requests may follow.
     */
    async atLeast(server: Server, running: Running, level: LogLevel): Promise<Disposable> {
      const held = hold(server, running, level);
      if (takesLevels(running)) await ask(server, running, wantedOf(server, running));
      return held;
    },
    /**
     * Returns the minimum level for a client that has set none; undefined (everything) if no client has set a level.
     */
    defaultLevel: ({ running }: Server) =>
      running && asked.has(running) ? defaultLevel : undefined,
  };
}
