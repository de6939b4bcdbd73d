import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { withCompoundsOf } from '../../hub/enhance/compound-words.ts';

const read = (text: string, other: string) =>
  withCompoundsOf(canonicalOf(text), canonicalOf(other))
    .tokens.map(token => token.text)
    .join(' ');

test.for([
  ['sort the time sheets', 'print the timesheets', 'sort the timesheets'],
  ['add a pre-commit hook', 'remove the precommit hook', 'add a precommit hook'],
  ['how to back-up it', 'how to back up it', 'how to back up it'],
  ['sort the time sheets', 'sort the time sheets', 'sort the time sheets'],
  ['all together now', 'altogether now', 'all together now'],
  ['he will re-sign', 'he will resign', 'he will re-sign'],
  ['may be late', 'maybe late', 'may be late'],
] as const)('%j compared with %j is read as %j', ([text, other, expected]) =>
  assert.equal(read(text, other), expected),
);

test('a prompt without compounds of the other is returned unchanged', () => {
  const canonical = canonicalOf('sort the list');
  assert.equal(withCompoundsOf(canonical, canonicalOf('sort the names')), canonical);
});
