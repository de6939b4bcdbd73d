export type RestartLimit = { readonly maxRestarts: number; readonly windowMs: number };

/**
 * Records a restart at `nowMs` after those at `earlierMs`, and tells whether the limit for a sliding window
 * still allows it. Pure.
 */
export function recordRestart(
  earlierMs: readonly number[],
  nowMs: number,
  { maxRestarts, windowMs }: RestartLimit,
): { readonly restartsMs: readonly number[]; readonly isAllowed: boolean } {
  const recent = earlierMs.filter(atMs => nowMs - atMs < windowMs);
  // One restart past the limit is enough to know that the limit is exceeded.
  const restartsMs = [...recent, nowMs].slice(-(maxRestarts + 1));
  return { restartsMs, isAllowed: restartsMs.length <= maxRestarts };
}
