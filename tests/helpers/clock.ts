import { type Clock, systemClock } from '#core';

/** A clock that stands still until a test moves it. */
export type ManualClock = Clock & {
  /** Moves the clock and runs the timers that fall due, in order. */
  advance(milliseconds: number): void;
  /** Number of pending timers. */
  readonly waiting: number;
};

/**
 * Creates a clock that tests move by hand. Timers of up to `passingMs` run in real time instead: the hub uses such
 * short delays only to batch events.
 */
export function createManualClock({
  passingMs,
}: { readonly passingMs?: number } = {}): ManualClock {
  let now = 0;
  const due = new Set<{ readonly at: number; readonly work: () => void }>();
  return {
    now: () => 1_750_000_000_000 + now,
    monotonic: () => now,
    after(delayMs, work) {
      if (passingMs !== undefined && delayMs <= passingMs) return systemClock.after(delayMs, work);
      const start = () => ({ at: now + delayMs, work });
      let entry = start();
      due.add(entry);
      return {
        refresh() {
          due.delete(entry);
          due.add((entry = start()));
        },
        [Symbol.dispose]: () => void due.delete(entry),
      };
    },
    advance(milliseconds) {
      const until = now + milliseconds;
      for (;;) {
        const next = [...due].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
        if (!next) break;
        due.delete(next);
        now = Math.max(now, next.at);
        next.work();
      }
      now = until;
    },
    get waiting() {
      return due.size;
    },
  };
}
