/** A running timer. Disposing it cancels it. */
export interface Timer extends Disposable {
  /** Restarts the delay. */
  refresh(): void;
}

/** The source of time. Tests replace it with a manual clock. */
export interface Clock {
  /** Milliseconds since the epoch, for display. */
  now(): number;
  /** Monotonic milliseconds, for durations. */
  monotonic(): number;
  /** Calls `work` once after `delayMs`; disposing cancels it. Does not keep the process alive. */
  after(delayMs: number, work: () => void): Timer;
}

/** Maximum delay: 24.8 days. Node fires a timer immediately if its delay exceeds 31 bits. */
const maxDelayMs = 2 ** 31 - 1;

/** The clock of the machine. Longer delays are reduced to 24.8 days. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // A Node timer without a wrapper: the relay starts one per call.
  after: (delayMs, work) => setTimeout(work, Math.min(delayMs, maxDelayMs)).unref(),
};

/** A duration for messages: seconds with at most one decimal, or milliseconds below one second. */
export const durationText = (milliseconds: number): string =>
  milliseconds < 1000
    ? `${Math.round(milliseconds)} ms`
    : `${Math.round(milliseconds / 100) / 10} s`;

/** Calls `work` at an interval, from `start` until it returns false or the ticker is disposed. */
export function createTicker(clock: Pick<Clock, 'after'>, intervalMs: number, work: () => boolean) {
  let next: Disposable | undefined;
  const tick = () => {
    next = undefined;
    if (work()) start();
  };
  /** Does nothing while the ticker runs. */
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
