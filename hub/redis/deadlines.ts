import type { Clock } from '#core';

/**
 * One deadline for each of many waits, all of the same length. They pass in the order in which the waits began, so one
 * timer serves all: a timer for each would cost more than the rest of a cache hit.
 */
export function createDeadlines(afterMs: number, clock: Pick<Clock, 'monotonic' | 'after'>) {
  /** In the order in which they began. Bounded by the calls in progress. */
  const waits = new Map<object, { readonly at: number; readonly onLate: () => void }>();
  let timer: Disposable | undefined;

  function arm(milliseconds: number): void {
    // One more turn of the event loop, which reads an answer that arrived while this process was busy.
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
    /** Calls `onLate` when the deadline passes, unless the wait has ended before. */
    begin(onLate: () => void) {
      /** `end` ends the wait; false if its deadline has passed. */
      const wait = { end: () => waits.delete(wait) };
      waits.set(wait, { at: clock.monotonic() + afterMs, onLate });
      if (!timer) arm(afterMs);
      return wait;
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
