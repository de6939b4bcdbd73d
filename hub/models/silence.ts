import type { Clock } from '#core';

/** A watch over how long nothing has been heard. */
export interface Silence extends Disposable {
  /** Something was heard just now. */
  heard(): void;
  /** For how long nothing was heard, in milliseconds. */
  readonly sinceMs: number;
}

/** Calls `late` once when nothing was heard for `longestMs`, counted from now; undefined is for ever. */
export function watchSilence(
  longestMs: number | undefined,
  clock: Clock,
  late: () => void,
): Silence {
  let heardMs = clock.monotonic();
  let timer: Disposable | undefined;
  // One timer is set again when it fires, rather than at each token.
  const arm = (longest: number, afterMs: number) => {
    timer = clock.after(Math.max(0, afterMs), () => {
      const leftMs = heardMs + longest - clock.monotonic();
      if (leftMs > 0) arm(longest, leftMs);
      else late();
    });
  };
  if (longestMs !== undefined) arm(longestMs, longestMs);
  return {
    heard() {
      heardMs = clock.monotonic();
    },
    get sinceMs() {
      return clock.monotonic() - heardMs;
    },
    [Symbol.dispose]: () => timer?.[Symbol.dispose](),
  };
}
