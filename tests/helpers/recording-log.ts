import type { Log } from '#core';

/** A line of the hub's log. */
export type Logged = {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: object;
};

/** Creates a log that stores its lines in memory. */
export function createRecordingLog(): { readonly log: Log; readonly logged: readonly Logged[] } {
  const logged: Logged[] = [];
  const keep = (level: Logged['level']) => (fields: object, message: string) =>
    void logged.push({ level, message, fields });
  const log: Log = {
    debug: keep('debug'),
    info: keep('info'),
    warn: keep('warn'),
    error: keep('error'),
    child: () => log,
  };
  return { log, logged };
}
