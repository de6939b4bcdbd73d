import type { Clock } from '#core';

/** A timeout that restarts with each sign of progress. */
export interface IdleTimeout extends Disposable {
  /** Restarts the timeout. */
  reset(): void;
  /** Time since the last reset, in milliseconds. */
  readonly idleMs: number;
}

/** Starts an idle timeout: calls `late` once after `timeoutMs` without a reset. Undefined means no timeout. */
export function startIdleTimeout(
  timeoutMs: number | undefined,
  clock: Clock,
  late: () => void,
): IdleTimeout {
  let resetMs = clock.monotonic();
  let timer: Disposable | undefined;
  // The timer is re-armed when it fires instead of at each token.
  const arm = (timeout: number, afterMs: number) => {
    timer = clock.after(Math.max(0, afterMs), () => {
      const leftMs = resetMs + timeout - clock.monotonic();
      if (leftMs > 0) arm(timeout, leftMs);
      else late();
    });
  };
  if (timeoutMs !== undefined) arm(timeoutMs, timeoutMs);
  return {
    reset() {
      resetMs = clock.monotonic();
    },
    get idleMs() {
      return clock.monotonic() - resetMs;
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
