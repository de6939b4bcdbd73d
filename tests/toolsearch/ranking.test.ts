import assert from 'node:assert/strict';
import { test } from 'vitest';
import { bestOf, joinScores } from '../../hub/toolsearch/ranking.ts';

const scoresOf = (...scores: readonly number[]) => Float64Array.from(scores);
const bestIn = (words: Float64Array, meanings?: Float64Array) =>
  bestOf(joinScores(words, meanings), 3);

test('without vectors only documents with a matching word are found, the best first', () => {
  assert.deepEqual(bestIn(scoresOf(0, 2, 5, 0)), [2, 1]);
  assert.deepEqual(bestIn(scoresOf()), []);
});

test('equal scores keep their order, and no more than the limit are found', () => {
  assert.deepEqual(bestIn(scoresOf(1, 3, 1, 3, 1, 3, 3)), [1, 3, 5]);
});

test('word and vector scores are combined whatever their scales are', () => {
  const words = scoresOf(0, 0, 900, 0, 0, 0, 0, 0, 0, 0);
  const meanings = scoresOf(0.5, 0.1, 0.4, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1);
  assert.deepEqual(bestIn(words, meanings).slice(0, 2), [2, 0]);
  assert.deepEqual(
    bestIn(
      words.map(score => score / 1e6),
      meanings,
    ).slice(0, 2),
    [2, 0],
  );
  assert.deepEqual(bestIn(scoresOf(...Array.from(words, () => 0)), meanings).slice(0, 2), [0, 2]);
});

test('vector scores count once nearly all are known; an unknown one is average', () => {
  const words = Float64Array.from({ length: 20 }, (_, at) => (at === 7 ? 1 : 0));
  const meanings = Float64Array.from({ length: 20 }, (_, at) => (at === 3 ? 1 : 0));
  meanings[7] = NaN;
  assert.deepEqual(bestIn(words, meanings).slice(0, 2), [3, 7]);
  meanings[8] = meanings[9] = NaN;
  assert.deepEqual(bestIn(words, meanings), [7]);
});
