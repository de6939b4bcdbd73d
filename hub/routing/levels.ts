import { type Log, isObject, messageOf } from '#core';
import { type LogLevel, isLogLevel, logLevels } from '#rpc';
import type { Running, Server } from '#servers';
import type { SessionState } from './session.ts';

/** Asks servers for the log level that their sessions want. */
export type Levels = {
  /** To be called when a session chose a level or left, and when the server runs anew. */
  update(server: Server): void;
  /**
   * Has a server tell messages from this level on, for a client that wants them for one request. It
   * goes on telling them: other such requests will follow.
   */
  atLeast(server: Server, running: Running, level: LogLevel): Promise<void>;
};

/** Whether a log message with these params is one of the level or above. */
export function isWanted(wanted: LogLevel | undefined, params: unknown): boolean {
  if (wanted === undefined || !isObject(params)) return true;
  const { level } = params;
  return !isLogLevel(level) || logLevels.indexOf(level) >= logLevels.indexOf(wanted);
}

/** MCP has no way to ask for the level that a server started with; this is what most start with. */
const unasked: LogLevel = 'info';

/** A server is asked for the most talkative level that any of the sessions that see it wants. */
export function createLevels(
  sessions: () => Iterable<SessionState>,
  needs: { readonly log: Log },
): Levels {
  const asked = new WeakMap<Running, LogLevel>();
  /** The most talkative level that clients without a session want. */
  const floors = new WeakMap<Running, LogLevel>();

  function wantedOf(server: Server, running: Running): LogLevel | undefined {
    const floor = floors.get(running);
    let lowest = floor && logLevels.indexOf(floor);
    for (const { view, logLevel } of sessions())
      if (logLevel !== undefined && (view === 'all' || view.config === server.config))
        lowest = Math.min(lowest ?? Infinity, logLevels.indexOf(logLevel));
    return lowest === undefined ? undefined : logLevels[lowest];
  }

  /** Asks for the level that is wanted now, unless the server has been asked for it. */
  async function ask({ config }: Server, running: Running, wanted: LogLevel | undefined) {
    const before = asked.get(running);
    const level = wanted ?? (before && unasked);
    if (level === undefined || level === before) return;
    asked.set(running, level);
    try {
      await running.upstream.request('logging/setLevel', { level }, config.callTimeoutMs);
    } catch (error) {
      // It may be asked again, unless it has been asked for something else meanwhile.
      if (asked.get(running) === level) asked.delete(running);
      const fields = { server: config.name, level, error: messageOf(error) };
      needs.log.warn(fields, 'the level was refused');
    }
  }

  /** Servers of the stateless revision are told the level in each request. */
  const takesLevels = ({ introduction }: Running) =>
    introduction.era === 'legacy' && 'logging' in introduction.capabilities;

  return {
    update(server) {
      const { running } = server;
      if (running && takesLevels(running)) void ask(server, running, wantedOf(server, running));
    },
    async atLeast(server, running, level) {
      if (!takesLevels(running)) return;
      const floor = floors.get(running);
      if (floor === undefined || logLevels.indexOf(level) < logLevels.indexOf(floor))
        floors.set(running, level);
      await ask(server, running, wantedOf(server, running));
    },
  };
}
