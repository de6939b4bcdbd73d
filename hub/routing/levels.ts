import { type Log, messageOf } from '#core';
import { type LogLevel, logLevels } from '#rpc';
import type { Running, Server } from '#servers';
import type { SessionState } from './session.ts';

/** Asks servers for the log level that their sessions want. */
export type Levels = {
  /** To be called when a session chose a level or left, and when the server runs anew. */
  update(server: Server): void;
};

/** MCP has no way to ask for the level that a server started with; this is what most start with. */
const unasked: LogLevel = 'info';

/** A server is asked for the most talkative level that any of the sessions that see it wants. */
export function createLevels(
  sessions: () => Iterable<SessionState>,
  needs: { readonly log: Log },
): Levels {
  const asked = new WeakMap<Running, LogLevel>();

  function wantedOf(server: Server): LogLevel | undefined {
    let lowest: number | undefined;
    for (const { view, logLevel } of sessions())
      if (logLevel !== undefined && (view === 'all' || view === server))
        lowest = Math.min(lowest ?? Infinity, logLevels.indexOf(logLevel));
    return lowest === undefined ? undefined : logLevels[lowest];
  }

  return {
    update(server) {
      const { running, config } = server;
      if (!running || !('logging' in running.introduction.capabilities)) return;
      const before = asked.get(running);
      const wanted = wantedOf(server) ?? (before && unasked);
      if (wanted === undefined || wanted === before) return;
      asked.set(running, wanted);
      running.upstream
        .request('logging/setLevel', { level: wanted }, config.callTimeoutMs)
        .catch((error: unknown) => {
          // It may be asked again, unless it has been asked for something else meanwhile.
          if (asked.get(running) === wanted) asked.delete(running);
          const fields = { server: config.name, level: wanted, error: messageOf(error) };
          needs.log.warn(fields, 'the level was refused');
        });
    },
  };
}
