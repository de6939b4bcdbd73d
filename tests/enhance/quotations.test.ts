import assert from 'node:assert/strict';
import { test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { withQuotesAlike } from '../../hub/enhance/quotations.ts';

const isHit = (a: string, b: string) => /^(?:same|alike)$/.test(compareGuarded(a, b).verdict);

test.for([
  ['What does "SIGKILL" mean?', 'What does `SIGKILL` mean?'],
  ['Rename report.txt to final.txt', 'Rename "report.txt" to "final.txt"'],
  ['Drop the `users` table', 'Drop the users table'],
  ['Match dates like `2021-07-15`', 'Match dates like 2021-07-15'],
])('%s / %s are the same request', ([a = '', b = '']) => assert.ok(isHit(a, b) && isHit(b, a)));

test.for([
  ['Drop the `users` table', 'Drop the user table'],
  ['Print "Hello"', 'Print hello'],
  ['Find "mistakes" in this essay', 'Find mistakes in this essay'],
  ['What is `null` in JavaScript?', 'What is "null" in JavaScript?'],
  ['What does "it" mean?', 'What does it mean?'],
  ['Is "x" the same as x?', 'Is x the same as "x"?'],
  ['Rename `foo` to `bar`', 'Rename bar to foo'],
  ['Is "10" equal to 10?', 'Is 10 equal to 10?'],
  ['Format: x = "ab"', 'Format: x = ab'],
])('%s / %s are two requests', ([a = '', b = '']) => assert.ok(!isHit(a, b) && !isHit(b, a)));

test('prompts without quotes are unchanged', () => {
  const [a, b] = ["don't print it", "it's the users' table"];
  assert.deepEqual(withQuotesAlike(a, b), [a, b]);
});
