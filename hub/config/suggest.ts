/** Returns the candidate that a misspelt word most likely stands for; undefined if none is close. */
export function findClosest(word: string, candidates: readonly string[]): string | undefined {
  const normalized = normalizeWord(word);
  const [best] = rank(normalized, candidates);
  if (best && best.distance <= Math.max(1, Math.floor(normalized.length / 3)))
    return best.candidate;
  // Clients write `httpUrl` for `url`, and users write `mem` for `memory`.
  return candidates.find(
    candidate =>
      (candidate.length > 2 && normalized.endsWith(normalizeWord(candidate))) ||
      (normalized.length > 2 && normalizeWord(candidate).startsWith(normalized)),
  );
}

/** Returns up to `max` candidates with the smallest edit distances from a word, nearest first. */
export const nearest = (word: string, candidates: readonly string[], max: number) =>
  rank(normalizeWord(word), candidates)
    .slice(0, max)
    .map(({ candidate }) => candidate);

const rank = (normalized: string, candidates: readonly string[]) =>
  candidates
    .map(candidate => ({ candidate, distance: distanceOf(normalized, normalizeWord(candidate)) }))
    .sort((a, b) => a.distance - b.distance);

/** Removes case and separators, so that `autoStart`, `auto-start` and `auto_start` are equal. */
const normalizeWord = (word: string) =>
  word
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[-_\s]/g, '');

/**
 * Returns the number of insertions, deletions, replacements and swaps of neighbours between two words (optimal string
 * alignment distance).
 */
function distanceOf(from: string, to: string): number {
  let before: readonly number[] = [];
  let row: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [line, letter] of Array.from(from).entries()) {
    const next = [line + 1];
    for (const [column, other] of Array.from(to).entries()) {
      const isSwapped = letter === to[column - 1] && other === from[line - 1];
      next.push(
        Math.min(
          (next[column] ?? 0) + 1,
          (row[column + 1] ?? 0) + 1,
          (row[column] ?? 0) + (letter === other ? 0 : 1),
          isSwapped ? (before[column - 1] ?? 0) + 1 : Infinity,
        ),
      );
    }
    before = row;
    row = next;
  }
  return row.at(-1) ?? 0;
}
