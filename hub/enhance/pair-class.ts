import { cacheKey } from '#cache';
import { canonicalOf } from './canonical.ts';
import { commonLength } from './words.ts';

/** Words of one prompt that replace words of the other; undefined for a run of words that both have. */
type Part = { readonly ours: string[]; readonly theirs: string[] } | undefined;

/** Maximum number of cells in the table of a comparison, enough for two prompts of 1,000 words. */
const maxCells = 1_000_000;

/**
 * Returns the key of all pairs of prompts that differ in the same words at the same places: "explain how X works" and
 * "describe the way X works", for any X. The order of the two prompts does not matter.
 */
export function classOf(a: string, b: string): string {
  const [ours, theirs] = [canonicalOf(a).sequence, canonicalOf(b).sequence];
  const isLong = (ours.length + 1) * (theirs.length + 1) > maxCells;
  const parts: readonly Part[] = isLong ? [{ ours: [a], theirs: [b] }] : partsOf(ours, theirs);
  const described = [false, true].map(isTurned =>
    JSON.stringify(
      parts.map(part => part && (isTurned ? [part.theirs, part.ours] : [part.ours, part.theirs])),
    ),
  );
  return cacheKey(['class', ...described.toSorted().slice(0, 1)]);
}

/** Splits two lists at their common beginning and end, and in between at their longest common subsequence. */
function partsOf(a: readonly string[], b: readonly string[]): readonly Part[] {
  const before = commonLength(a, b);
  const after = commonLength(a.slice(before).toReversed(), b.slice(before).toReversed());
  const [left, right] = [a, b].map(items => items.slice(before, items.length - after));
  return [
    ...(before > 0 ? [undefined] : []),
    ...subsequenceParts(left ?? [], right ?? []),
    ...(after > 0 ? [undefined] : []),
  ];
}

function subsequenceParts(a: readonly string[], b: readonly string[]): readonly Part[] {
  const width = b.length + 1;
  /** Length of the longest common subsequence of `a` from index i and `b` from index j, for each i and j. */
  const lengths = new Uint16Array((a.length + 1) * width);
  const lengthAt = (i: number, j: number) => lengths[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        a[i] === b[j]
          ? lengthAt(i + 1, j + 1) + 1
          : Math.max(lengthAt(i + 1, j), lengthAt(i, j + 1));
  const parts: Part[] = [];
  for (let i = 0, j = 0; i < a.length || j < b.length;) {
    if (a[i] === b[j]) {
      if (parts.length === 0 || parts.at(-1)) parts.push(undefined);
      [i, j] = [i + 1, j + 1];
      continue;
    }
    const part = parts.at(-1) ?? { ours: [], theirs: [] };
    if (!parts.at(-1)) parts.push(part);
    const isOurs = j === b.length || (i < a.length && lengthAt(i + 1, j) >= lengthAt(i, j + 1));
    if (isOurs) part.ours.push(a[i++] ?? '');
    else part.theirs.push(b[j++] ?? '');
  }
  return parts;
}
