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
  const columns = to.length + 1;
  // Distances of the prefixes of `from` (rows) to those of `to` (columns), row after row.
  const distances = new Uint8Array((from.length + 1) * columns);
  const at = (line: number, column: number) => distances[line * columns + column] ?? 0;
  for (let column = 1; column < columns; column++) distances[column] = column;
  for (let line = 1; line <= from.length; line++) {
    distances[line * columns] = line;
    const [letter, previous] = [from.charCodeAt(line - 1), from.charCodeAt(line - 2)];
    for (let column = 1; column < columns; column++) {
      const other = to.charCodeAt(column - 1);
      let least = Math.min(
        at(line, column - 1) + 1,
        at(line - 1, column) + 1,
        at(line - 1, column - 1) + (letter === other ? 0 : 1),
      );
      const isSwapped = letter === to.charCodeAt(column - 2) && other === previous;
      if (isSwapped) least = Math.min(least, at(line - 2, column - 2) + 1);
      distances[line * columns + column] = least;
    }
  }
  return at(from.length, to.length);
}
