import { type Clock, type Log, isObject, messageOf } from '#core';
import { type LogLevel, isLogLevel, logLevels } from '#mcp';
import type { Running, Server } from '#servers';
import { keepsSessions } from '../bridge/eras.ts';
import type { SessionState } from '../session.ts';

/** Asks servers for the log level that their sessions want. */
export type LogLevels = {
  /** To be called when a session chose a level or left, and when the server runs anew. */
  update(server: Server): void;
  /**
   * Has a server tell messages from this level on, for a client that wants them for one request: until
   * what it resolves with is disposed of, and for a minute more, as other such requests may follow.
   */
  atLeast(server: Server, running: Running, level: LogLevel): Promise<Disposable>;
  /**
   * From which level on a client hears the server that has asked for none. Undefined where nobody has
   * asked: then it hears what the server says by itself.
   */
  unasked(server: Server): LogLevel | undefined;
};

/** Whether a log message with these params is one of the level or above. */
export function isWanted(wanted: LogLevel | undefined, params: unknown): boolean {
  if (wanted === undefined || !isObject(params)) return true;
  const { level } = params;
  return !isLogLevel(level) || logLevels.indexOf(level) >= logLevels.indexOf(wanted);
}

/** MCP has no way to ask for the level that a server started with; this is what most start with. */
const unasked: LogLevel = 'info';

/** How long a server goes on telling what no request asks for any more, in milliseconds. */
const lingerMs = 60_000;

/** A level that clients without a session want: how many requests do, or how long none has. */
type Floor = { requests: number; lingering: Disposable | undefined };

export type LogLevelsNeeds = { readonly log: Log; readonly clock: Pick<Clock, 'after'> };

/** A server is asked for the most talkative level that any of the sessions that see it wants. */
export function createLogLevels(
  sessions: () => Iterable<SessionState>,
  { log, clock }: LogLevelsNeeds,
): LogLevels {
  const asked = new WeakMap<Running, LogLevel>();
  const floors = new WeakMap<Running, Map<LogLevel, Floor>>();

  function wantedOf(server: Server, running: Running): LogLevel | undefined {
    let lowest: number | undefined;
    for (const level of floors.get(running)?.keys() ?? [])
      lowest = Math.min(lowest ?? Infinity, logLevels.indexOf(level));
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
      log.warn(fields, 'the level was refused');
    }
  }

  /** Servers of the stateless revision are told the level in each request. */
  const takesLevels = ({ introduction }: Running) =>
    keepsSessions(introduction) && 'logging' in introduction.capabilities;

  function update(server: Server): void {
    const { running } = server;
    if (running && takesLevels(running)) void ask(server, running, wantedOf(server, running));
  }

  /** Keeps the level for as long as a request wants it, and a while more. */
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
    async atLeast(server, running, level) {
      const held = hold(server, running, level);
      if (takesLevels(running)) await ask(server, running, wantedOf(server, running));
      return held;
    },
    unasked: ({ running }) => (running && asked.has(running) ? unasked : undefined),
  };
}
