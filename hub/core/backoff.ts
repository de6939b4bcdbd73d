export type BackoffOptions = {
  readonly firstMs: number;
  readonly maxMs: number;
  /** From 0 (none) to 1: which part of a delay is left to chance. */
  readonly jitter: number;
};

/**
 * The delay in milliseconds before the attempt after `failures` failures in a row: doubled each time,
 * bounded, and spread by `random` (0 to 1) so that servers that died together do not start together.
 */
export function backoffMs(options: BackoffOptions, failures: number, random: () => number): number {
  const full = Math.min(options.maxMs, options.firstMs * 2 ** Math.max(0, failures - 1));
  return Math.round(full * (1 - options.jitter * random()));
}
