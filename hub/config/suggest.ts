/** The candidate that the word was probably meant to be; undefined where none is near. */
export function findClosest(word: string, candidates: readonly string[]): string | undefined {
  const folded = fold(word);
  const ranked = candidates
    .map(candidate => ({ candidate, distance: distanceOf(folded, fold(candidate)) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  if (best && best.distance <= Math.max(1, Math.floor(folded.length / 3))) return best.candidate;
  // Clients write `httpUrl` where the hub has `url`, and people `mem` for `memory`.
  return candidates.find(
    candidate =>
      (candidate.length > 2 && folded.endsWith(fold(candidate))) ||
      (folded.length > 2 && fold(candidate).startsWith(folded)),
  );
}

/** `autoStart`, `auto-start` and `auto_start` are one word. */
const fold = (word: string) =>
  word
    .slice(0, 64)
    .toLowerCase()
    .replaceAll(/[-_\s]/g, '');

/** The fewest letters to put in, take out, replace, or swap with their neighbour (optimal string alignment). */
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
