import type { Clock, Log } from '#core';

/** Log for lines that a server can trigger at will. */
export type LimitedLog = Pick<Log, 'info' | 'warn'>;

const linesPerSecond = 50;
const windowMs = 1_000;

/**
 * Creates a log that accepts 50 lines a second and counts the rest. Without the limit, a server that floods its
 * stderr or stdout would use up the hub's CPU time and the machine's disk.
 */
export function createLimitedLog(
  log: Log,
  needs: { readonly clock: Pick<Clock, 'monotonic' | 'after'> },
): LimitedLog {
  const { clock } = needs;
  let startedMs = -Infinity;
  let lines = 0;
  let dropped = 0;

  function open(): void {
    startedMs = clock.monotonic();
    lines = 0;
  }

  function admits(): boolean {
    // During a flood, count the line without reading the clock.
    if (dropped > 0) {
      dropped++;
      return false;
    }
    if (clock.monotonic() - startedMs >= windowMs) open();
    if (lines < linesPerSecond) {
      lines++;
      return true;
    }
    dropped = 1;
    clock.after(startedMs + windowMs - clock.monotonic(), () => {
      const message = `${dropped} lines were not logged: the server writes more than ${linesPerSecond} a second`;
      log.warn({ lines: dropped }, message);
      dropped = 0;
      open();
    });
    return false;
  }

  return {
    info(fields, message) {
      if (admits()) log.info(fields, message);
    },
    warn(fields, message) {
      if (admits()) log.warn(fields, message);
    },
  };
}
