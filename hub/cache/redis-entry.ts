import type { RedisValue } from '#redis';

/** Tolerance for a clock of Redis that was corrected backwards. */
const backwardsMs = 1_000;

/**
 * Reads the value that `indexScript` wrote. Undefined for anything else: the value of another program, one without
 * a time to live, or one that lives longer than it should because the clock of Redis was set back.
 */
export function readEntry({ text, ttlMs: leftMs }: RedisValue) {
  const end = text.indexOf(' ');
  const digits = text.slice(0, Math.max(0, end));
  if (!/^\d+$/.test(digits) || leftMs < 0 || leftMs > Number(digits) + backwardsMs)
    return undefined;
  return { value: text.slice(end + 1), ageMs: Math.max(0, Number(digits) - leftMs) };
}
