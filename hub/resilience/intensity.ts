import type { Clock } from '#core';

export type IntensityOptions = { readonly maxRestarts: number; readonly windowMs: number };

/** Counts restarts inside a sliding window. `record` answers whether one more is still allowed. */
export function createIntensity(options: IntensityOptions, clock: Clock): { record(): boolean } {
  let restarts: number[] = [];
  return {
    record() {
      const now = clock.monotonic();
      const recent = restarts.filter(at => now - at < options.windowMs);
      // One past the limit is enough to know that the limit is passed.
      restarts = [...recent, now].slice(-(options.maxRestarts + 1));
      return restarts.length <= options.maxRestarts;
    },
  };
}
