import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { withFirstWordOf } from '../../hub/enhance/first-word.ts';

test.for([
  ['Pancake recipe for two', 'Give me a pancake recipe for two', 'pancake'],
  ['Apple pie recipe', 'Give me an apple pie recipe', 'apple'],
  ['Pancake recipe for two', 'Give me a Pancake recipe for two', 'Pancake'],
  ['Apple is bought by which company?', 'Which company buys apple?', 'Apple'],
  ['Talk about the phone', 'Give a talk about the phone', 'Talk'],
  ['NASA history', 'Give me a nasa history', 'NASA'],
  ['', 'Give me a pancake recipe', undefined],
] as const)('the first word of %j compared with %j is %j', ([a, b, expected]) => {
  const { tokens, head } = withFirstWordOf(canonicalOf(a), canonicalOf(b));
  assert.equal(tokens[0]?.text, expected);
  assert.equal(head[0]?.text, expected);
});
