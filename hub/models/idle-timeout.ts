import type { Clock } from '#core';

/** Starts an idle timeout: calls `late` once if `timeoutMs` pass without a reset; never if `timeoutMs` is undefined. */
export function startIdleTimeout(
  timeoutMs: number | undefined,
  clock: Clock,
  late: (timeoutMs: number) => void,
) {
  let resetMs = clock.monotonic();
  let timer: Disposable | undefined;
  // The timer is re-armed when it fires instead of at each token.
  const arm = (timeout: number, afterMs: number) => {
    timer = clock.after(Math.max(0, afterMs), () => {
      const leftMs = resetMs + timeout - clock.monotonic();
      if (leftMs > 0) arm(timeout, leftMs);
      else late(timeout);
    });
  };
  if (timeoutMs !== undefined) arm(timeoutMs, timeoutMs);
  return {
    /** Restarts the idle timeout. `nextMs` replaces its duration from now on. */
    reset(nextMs?: number): void {
      resetMs = clock.monotonic();
      if (nextMs === undefined || nextMs === timeoutMs) return;
      timeoutMs = nextMs;
      timer?.[Symbol.dispose]();
      arm(nextMs, nextMs);
    },
    get idleMs() {
      return clock.monotonic() - resetMs;
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
