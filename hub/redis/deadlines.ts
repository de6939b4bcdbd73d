import type { Clock } from '#core';

/**
 * One deadline for each of many waits, all of the same length. One timer serves all waits, because they pass their deadlines in the order in which they began. A timer for each
 * would cost more than the rest of a cache hit.
 */
export function createDeadlines(afterMs: number, clock: Pick<Clock, 'monotonic' | 'after'>) {
  /** In the order in which they began. Bounded by the calls under way. */
  const waiting = new Map<object, { readonly at: number; readonly late: () => void }>();
  let timer: Disposable | undefined;

  function arm(milliseconds: number): void {
    // One more turn of the event loop, which reads an answer that arrived while this process was busy.
    timer = clock.after(milliseconds, () => setImmediate(look, clock.monotonic()));
  }

  function look(until: number): void {
    timer = undefined;
    for (const [one, { at, late }] of waiting) {
      if (at > until) {
        arm(Math.max(0, at - clock.monotonic()));
        return;
      }
      waiting.delete(one);
      late();
    }
  }

  return {
    /** Calls `late` when the deadline passes, unless the wait has ended before. */
    begin(late: () => void) {
      /** `end` ends the wait; false if its deadline has passed. */
      const one = { end: () => waiting.delete(one) };
      waiting.set(one, { at: clock.monotonic() + afterMs, late });
      if (!timer) arm(afterMs);
      return one;
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
