import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { isOtherDuty, isOtherTense } from '../../hub/enhance/tenses.ts';

test.for([
  ['what is the team working on?', 'what was the team working on?', true],
  ['why does it fail?', 'why did it fail?', true],
  ['tell them that I was away', 'tell them that I will be away', true],
  ['what was it and what will it be?', 'what is it and what will it be?', true],
  ['files that have been deleted', 'files that will be deleted', true],
  ['users who logged in', 'users who are logged in', true],
  ['files that changed', 'files that were changed', false],
  ['what does it print?', 'what will it print?', false],
  ['why does it fail?', 'what makes it fail?', false],
  ['it was slow, why is it fast?', 'it was slow, why was it fast?', false],
] as const)('the tenses of %j and %j differ: %j', ([a, b, expected]) =>
  assert.equal(isOtherTense(canonicalOf(a), canonicalOf(b)), expected),
);

test.for([
  ['what does it return?', 'what should it return?', true],
  ['how do I store passwords?', 'how should I store passwords?', false],
  ['how do you store passwords?', 'how should passwords be stored?', false],
] as const)('only one of %j and %j asks what should be: %j', ([a, b, expected]) =>
  assert.equal(isOtherDuty(canonicalOf(a), canonicalOf(b)), expected),
);
