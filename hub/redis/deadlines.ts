import type { Clock } from '#core';

/**
 * Creates deadlines of one length for many waits. Deadlines pass in the order of their waits, so a single timer
 * serves all: a timer for each would cost more than the rest of a cache hit.
 */
export function createDeadlines(afterMs: number, clock: Pick<Clock, 'monotonic' | 'after'>) {
  /** Waits in the order in which they began. Their number is bounded by the calls in progress. */
  const waits = new Map<object, { readonly at: number; readonly onLate: () => void }>();
  let timer: Disposable | undefined;

  function arm(milliseconds: number): void {
    // Expires one turn of the event loop later, so that answers that arrived while this process was busy are read
    // first.
    timer = clock.after(milliseconds, () => setImmediate(expire, clock.monotonic()));
  }

  function expire(until: number): void {
    timer = undefined;
    for (const [wait, { at, onLate }] of waits) {
      if (at > until) return arm(Math.max(0, at - clock.monotonic()));
      waits.delete(wait);
      onLate();
    }
  }

  return {
    /** Starts a wait: calls `onLate` at its deadline, unless the wait ends before. */
    begin(onLate: () => void) {
      /** `end` ends the wait, and returns false if its deadline has passed. */
      const wait = { end: () => waits.delete(wait) };
      waits.set(wait, { at: clock.monotonic() + afterMs, onLate });
      if (!timer) arm(afterMs);
      return wait;
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
