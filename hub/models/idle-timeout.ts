import type { Clock } from '#core';

export type IdleTimeout = ReturnType<typeof startIdleTimeout>;

/** Starts an idle timeout: calls `late` once after `timeoutMs` without a reset. Undefined means no timeout. */
export function startIdleTimeout(timeoutMs: number | undefined, clock: Clock, late: () => void) {
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
    /** Restarts the timeout. */
    reset(): void {
      resetMs = clock.monotonic();
    },
    /** Time since the last reset, in milliseconds. */
    get idleMs() {
      return clock.monotonic() - resetMs;
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
