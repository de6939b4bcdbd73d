import assert from 'node:assert/strict';
import { test } from 'vitest';
import { contentWords, isAlike, proseOf, sentencesOf } from '../../../hub/enhance/checks/text.ts';

test('prose has no code, quotations, paths, tags and marks of Markdown', () => {
  const text = '# Fix `a()` in src/a.ts\n1. **Say** "no"\n```js\nb()\n```\n<b>Done</b>';
  assert.deepEqual(
    sentencesOf(proseOf(text)).map(line => line.split(/\s+/).join(' ')),
    ['Fix in', 'Say', 'Done'],
  );
});

test('words that carry meaning are neither small nor polite', () => {
  assert.deepEqual(contentWords('Please do not delete my old logs, thanks'), [
    'delete',
    'old',
    'logs',
  ]);
});

test.each([
  ['change', 'changing', true],
  ['delete', 'deletion', true],
  ['use', 'using', true],
  ['résumé', 'resume', true],
  ['fix', 'repair', true],
  ['mail', 'email', true],
  ['cat', 'dog', false],
  ['better', 'best', false],
])('%s and %s are alike: %s', (a, b, expected) => {
  assert.equal(isAlike(a, b), expected);
});
