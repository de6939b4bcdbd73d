import assert from 'node:assert/strict';
import { test } from 'vitest';
import { alikeTo, contentWords, proseOf, sentencesOf } from '../../../hub/enhance/checks/text.ts';

test('prose excludes code, quotations, paths, tags and Markdown characters', () => {
  const text = '# Fix `a()` in src/a.ts\n1. **Say** "no"\n```js\nb()\n```\n<b>Done</b>';
  assert.deepEqual(
    sentencesOf(proseOf(text)).map(line => line.split(/\s+/).join(' ')),
    ['Fix in', 'Say', 'Done'],
  );
});

test('content words are neither function words nor polite words', () => {
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
])('%s and %s are similar: %s', (a, b, expected) => {
  assert.equal(alikeTo([b])(a), expected);
});
