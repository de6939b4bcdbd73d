/** A running timer. Disposing it cancels it. */
export interface Timer extends Disposable {
  /** Starts the delay anew. */
  refresh(): void;
}

/** The source of time. Tests replace it with a manual clock. */
export interface Clock {
  /** Returns milliseconds since the epoch, for display. */
  now(): number;
  /** Returns monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Calls `work` once after `delayMs`. Disposing the timer cancels it. A timer does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer;
}

/** Maximum delay in ms: 24.8 days. Node fires a timer immediately if its delay exceeds 31 bits. */
const maxDelayMs = 2 ** 31 - 1;

/** The machine's clock. Delays above 24.8 days are reduced to 24.8 days. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // A Node timer without a wrapper: the relay starts one per call.
  after: (delayMs, work) => setTimeout(work, Math.min(delayMs, maxDelayMs)).unref(),
};

/** Returns a duration as text for messages: seconds with at most one decimal, or milliseconds below one second. */
export const durationText = (milliseconds: number): string =>
  milliseconds < 1000
    ? `${Math.round(milliseconds)} ms`
    : `${Math.round(milliseconds / 100) / 10} s`;

/**
 * Creates a ticker that, once started, calls `work` at an interval until `work` returns false or the ticker is
 * disposed.
 */
export function createTicker(clock: Pick<Clock, 'after'>, intervalMs: number, work: () => boolean) {
  let next: Disposable | undefined;
  const tick = () => {
    next = undefined;
    if (work()) start();
  };
  /** Starts the ticker. Has no effect while it runs. */
  function start(): void {
    next ??= clock.after(intervalMs, tick);
  }
  return {
    start,
    [Symbol.dispose]() {
      next?.[Symbol.dispose]();
      next = undefined;
    },
  };
}
