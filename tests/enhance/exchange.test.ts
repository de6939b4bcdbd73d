import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';

const isAlike = (a: string, b: string) => compareGuarded(a, b).verdict === 'alike';

describe('exchanged words make another request', () => {
  test.for([
    [
      'behind a verb and a preposition',
      'Compare our prices with those of the competitors',
      'Compare our competitors with those of the prices',
    ],
    [
      'of two sentences',
      'My flight was cancelled. I want compensation from the airline.',
      'My compensation was cancelled. I want a flight from the airline.',
    ],
    [
      'behind two prepositions',
      'List the risks with one sentence of explanation',
      'List the risks with one explanation of sentence',
    ],
    [
      'between two requests',
      'Compare three apps for students. Recommend one.',
      'Recommend three apps for students. Compare one.',
    ],
  ] as const)('%s', ([, a, b]) => {
    assert.equal(isAlike(a, b), false);
    assert.equal(isAlike(b, a), false);
  });

  test.for([
    ['items of a list', 'Compare Redis and Memcached', 'Compare Memcached and Redis'],
    ['a noun before its noun', 'Reduce the size of the bundle', 'Reduce the bundle size'],
  ] as const)('but not %s', ([, a, b]) => {
    assert.equal(isAlike(a, b), true);
  });
});
