import type { Clock } from '#core';

/** One that waits. */
export type Waiting = {
  /** It waits no more; false where its time was up before. */
  end(): boolean;
};

/** Bounds how long each of many waits, all for the same time. */
export interface Deadlines extends Disposable {
  /** `late` is called once the time is up, unless the waiting has ended before. */
  begin(late: () => void): Waiting;
}

/**
 * Nobody waits as yet. One timer does for all who wait, as whoever began first is late first: one for each of them
 * would cost a hit more than all else that this hub does for it.
 */
export function createDeadlines(
  afterMs: number,
  clock: Pick<Clock, 'monotonic' | 'after'>,
): Deadlines {
  /** In the order in which they began: no more than there are calls and hubs to tell. */
  const waiting = new Map<Waiting, { readonly at: number; readonly late: () => void }>();
  let timer: Disposable | undefined;

  function arm(milliseconds: number): void {
    // One turn more: an answer that came while this process was busy is read in that turn.
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
    begin(late) {
      const one: Waiting = { end: () => waiting.delete(one) };
      waiting.set(one, { at: clock.monotonic() + afterMs, late });
      if (!timer) arm(afterMs);
      return one;
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
