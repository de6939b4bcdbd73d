/** How much the words count beside the meaning. Values from 0.4 to 0.6 find the same (decisions/0048). */
const wordShare = 0.5;
/** Share of the tools that must have vectors before meanings are compared. The others count as average. */
const minKnownShare = 0.9;

/**
 * Joins two scores of the same documents: each in standard deviations from its mean, so that neither depends on the
 * model or the length of the query. `meanings` has NaN where no vector is known; with too many of them only the words
 * count, and a document without words in common scores -Infinity.
 */
export function joinScores(words: Float64Array, meanings: Float64Array | undefined): Float64Array {
  const joined = new Float64Array(words.length);
  if (!meanings || knownIn(meanings) < minKnownShare * words.length) {
    for (const [at, score] of words.entries()) joined[at] = score > 0 ? score : -Infinity;
    return joined;
  }
  const byWords = standardOf(words);
  const byMeaning = standardOf(meanings);
  for (const [at, score] of words.entries()) {
    const meaning = meanings[at] ?? NaN;
    const distance = Number.isNaN(meaning) ? 0 : (meaning - byMeaning.mean) / byMeaning.deviation;
    joined[at] = (wordShare * (score - byWords.mean)) / byWords.deviation + distance;
  }
  return joined;
}

function knownIn(scores: Float64Array): number {
  let known = 0;
  for (const score of scores) if (!Number.isNaN(score)) known++;
  return known;
}

/** The mean and the standard deviation of the scores that are not NaN. */
function standardOf(scores: Float64Array) {
  const known = Math.max(1, knownIn(scores));
  let sum = 0;
  for (const score of scores) if (!Number.isNaN(score)) sum += score;
  const mean = sum / known;
  let squares = 0;
  for (const score of scores) if (!Number.isNaN(score)) squares += (score - mean) ** 2;
  return { mean, deviation: Math.max(Math.sqrt(squares / known), 1e-9) };
}

/** The positions of the highest scores above -Infinity, at most `limit`, the highest first. Equal ones keep their order. */
export function bestOf(scores: Float64Array, limit: number): readonly number[] {
  const best: { readonly at: number; readonly score: number }[] = [];
  for (const [at, score] of scores.entries()) {
    const last = best.at(-1);
    if (score === -Infinity || (best.length >= limit && last && score <= last.score)) continue;
    const place = best.findIndex(one => one.score < score);
    best.splice(place < 0 ? best.length : place, 0, { at, score });
    if (best.length > limit) best.pop();
  }
  return best.map(({ at }) => at);
}
