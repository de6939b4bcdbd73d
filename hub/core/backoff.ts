export type BackoffOptions = {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Fraction of the delay that is random, from 0 (none) to 1 (all of it). */
  readonly jitter: number;
};

/**
 * Returns the delay in ms before the next attempt, after `failures` consecutive failures. The delay doubles with each
 * failure up to `maxMs`; `random` (0 to 1) adds jitter so that servers that failed together do not all restart at the
 * same moment.
 */
export function backoffMs(options: BackoffOptions, failures: number, random: () => number): number {
  const full = Math.min(options.maxMs, options.firstMs * 2 ** Math.max(0, failures - 1));
  return Math.round(full * (1 - options.jitter * random()));
}
