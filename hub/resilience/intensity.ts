export type RestartLimit = { readonly maxRestarts: number; readonly windowMs: number };

/**
 * Adds a restart at `nowMs` to those at `earlierMs`, and returns whether the limit for a sliding window allows it.
 * Pure.
 */
export function recordRestart(
  earlierMs: readonly number[],
  nowMs: number,
  { maxRestarts, windowMs }: RestartLimit,
): { readonly restartsMs: readonly number[]; readonly isAllowed: boolean } {
  const recent = earlierMs.filter(atMs => nowMs - atMs < windowMs);
  // Restarts beyond one more than the limit are dropped: it is already known to be exceeded.
  const restartsMs = [...recent, nowMs].slice(-(maxRestarts + 1));
  return { restartsMs, isAllowed: restartsMs.length <= maxRestarts };
}
