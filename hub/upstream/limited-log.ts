import type { Clock, Log } from '#core';

/** For what a server can make the hub log at will. */
export type LimitedLog = Pick<Log, 'info' | 'warn'>;

const linesPerSecond = 50;
const windowMs = 1_000;

/**
 * A log that takes 50 lines a second and counts the rest: a server that floods its stderr or stdout
 * would otherwise cost the hub its time, and the machine its disk.
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
    // A flood is only counted, without a look at the clock.
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
