/** Weight of words relative to meaning. Values from 0.4 to 0.6 give the same results (decisions/0048). */
const wordShare = 0.5;
/** Minimum share of tools with vectors for scores by meaning to be used. Tools without one get the mean score. */
const minKnownShare = 0.9;

/**
 * Adds two scores of each document, in standard deviations from their mean, so that they depend neither on the model
 * nor on the length of the query. `meanings` has NaN where no vector is known. If too many are NaN, only the words
 * count, and documents without a word of the query score -Infinity.
 */
export function joinScores(words: Float64Array, meanings: Float64Array | undefined): Float64Array {
  const joined = new Float64Array(words.length);
  if (!meanings || knownIn(meanings).length < minKnownShare * words.length) {
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

const knownIn = (scores: Float64Array) => scores.filter(score => !Number.isNaN(score));

/** Returns the mean and the standard deviation of the scores that are not NaN. */
function standardOf(scores: Float64Array) {
  const known = knownIn(scores);
  const meanOf = (values: Float64Array) =>
    values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
  const mean = meanOf(known);
  const variance = meanOf(known.map(score => (score - mean) ** 2));
  return { mean, deviation: Math.max(Math.sqrt(variance), 1e-9) };
}

/** Returns the positions of the `limit` highest scores above -Infinity, descending. Equal scores keep their order. */
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
