import assert from 'node:assert/strict';
import { test } from 'vitest';
import { explainDifferences } from '../../hub/enhance/alike.ts';
import { canonicalOf } from '../../hub/enhance/canonical.ts';

const explain = (a: string, b: string) => explainDifferences(canonicalOf(a), canonicalOf(b));

test.for([
  ['Fix it', 'Repair it', 'alike', 'the same request in other words'],
  ['wie nutze ich node', 'Wie nutze ich Node', 'alike', 'the same words, apart from capitals'],
  ['Fix it', 'Wrap it', 'unexplained', 'not explained: “fix” and “wrap”'],
  ['Delete a branch', 'How do I delete a branch?', 'unexplained', '“do” and “howto”'],
  ['Fix it. Run it', 'Fix it, run it', 'alike', 'the same request in other words'],
  ['Explain this: a', 'Explain this: b', 'unexplained', 'the same request about another text'],
  ['Rename the tag', 'Rename the tags', 'unexplained', '“tag” and “tags”'],
  ['Is the app up?', 'Was the app up?', 'unexplained', 'another tense or another kind of thing'],
  ['explique le code', 'explique la classe', 'unexplained', 'other words, and not in English'],
  [
    'a calls b',
    'b calls a',
    'roles',
    'the same words in other roles: “calls”, “b” and “b”, “calls”',
  ],
  [
    'Delete empty rows in the sheet',
    'Delete rows in the empty sheet',
    'roles',
    'the same words in other roles: “delete”, “empty”, “rows”, “sheet” and “delete”, “rows”, “empty”, “sheet”',
  ],
  [
    'Print the bundle size',
    'Print the size of the bundle',
    'alike',
    'the same request in other words',
  ],
] as const)('%j and %j are compared: %s', ([a, b, kind, why]) =>
  assert.deepEqual(explain(a, b), { kind, why }),
);

test('long requests are not compared', () => {
  const long = 'word '.repeat(600);
  assert.equal(explain(long, `${long} more`).why, 'longer than 500 words');
});
