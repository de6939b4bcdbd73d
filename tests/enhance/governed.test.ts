import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { otherGoverned } from '../../hub/enhance/governed.ts';

test.for([
  ['it was approved by Maria', 'it was approved for Maria', 'maria'],
  ['write docs for the module', 'write docs in the module', 'module'],
  ['list the flights to Oslo', 'list the flights from Oslo', 'oslo'],
  ['write docs for the module', 'write docs of the module', undefined],
  ['copy it from a to b', 'copy it to b from a', undefined],
  ['a talk about the sea', 'a talk on the sea', undefined],
  ['move it to its own module', 'move it to a module of its own', undefined],
] as const)('%j and %j: %j', ([a, b, expected]) =>
  assert.equal(otherGoverned(canonicalOf(a), canonicalOf(b)), expected),
);
