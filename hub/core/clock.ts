/** A timer that runs. Disposing it cancels it. */
export interface Timer extends Disposable {
  /** Starts the delay again from its beginning. */
  refresh(): void;
}

/** Time, handed in so that tests move it by hand. */
export interface Clock {
  /** Milliseconds since the epoch, for what people read. */
  now(): number;
  /** Milliseconds that never go back, for durations. */
  monotonic(): number;
  /** Calls `work` once after `delayMs`; disposing cancels it. The timer alone keeps no process alive. */
  after(delayMs: number, work: () => void): Timer;
}

/** Node fires a timer at once when its delay does not fit into 31 bits. 24.8 days. */
const maxDelayMs = 2 ** 31 - 1;

/** The machine's own clock. A delay above 24.8 days is cut to that. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  // Node's own timer: the relay starts one for each call, and needs no other object for it.
  after: (delayMs, work) => setTimeout(work, Math.min(delayMs, maxDelayMs)).unref(),
};
