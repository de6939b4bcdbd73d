import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { pairsOf } from '../../hub/enhance/spot-pairs.ts';
import { spotsOf } from '../../hub/enhance/spots.ts';

const spotsIn = (text: string) => spotsOf(canonicalOf(text), true).spots;

/** Returns the words of a prompt with the words of the other prompt that they are paired with. */
function paired(a: string, b: string) {
  const [spots, others] = [spotsIn(a), spotsIn(b)];
  const [mine, theirs] = [spots, others].map(list => list.map(({ raw }) => raw));
  return [...pairsOf(spots, others)].map(([one, other]) => [mine?.[one], theirs?.[other], other]);
}

test('among equal neighbours, a word is paired with the equal word', () => {
  const found = paired(
    'copy the old file, delete the new file',
    'delete the new file, copy the old file',
  );
  const files = found.filter(([word]) => word === 'file');
  assert.deepEqual(
    files.map(([, , other]) => other),
    [5, 2],
  );
});

test('a word that is repeated very often is paired in order', () => {
  const text = 'check: '.repeat(150);
  const found = paired(text, text);
  assert.deepEqual(
    found.map(([, , other]) => other),
    Array.from({ length: 150 }, (_, at) => at),
  );
});
