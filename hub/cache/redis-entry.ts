/** Tolerance for a clock of Redis that was corrected backwards, and for that of the hub which estimates it. */
const futureMs = 1_000;

/**
 * Reads the value that `indexScript` wrote, at a time of Redis in milliseconds. Undefined for the value of another
 * program, and for one that expired or that was written in the future: the clock of Redis was set back.
 */
export function readEntry(text: string, nowMs: number) {
  const [, created, expires] = /^(\d+) (\d+) /.exec(text) ?? [];
  if (created === undefined || expires === undefined) return undefined;
  if (Number(expires) <= nowMs || Number(created) > nowMs + futureMs) return undefined;
  const value = text.slice(created.length + expires.length + 2);
  return { value, ageMs: Math.max(0, Math.floor(nowMs - Number(created))) };
}
