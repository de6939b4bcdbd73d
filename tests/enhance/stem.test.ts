import assert from 'node:assert/strict';
import { test } from 'vitest';
import { stemOf } from '../../hub/enhance/stem.ts';

test.for([
  ['use', 'used', 'ed'],
  ['stop', 'stopping', 'ing'],
  ['query', 'queries', 's'],
  ['class', 'classes', 's'],
  ['cache', 'caches', 's'],
  ['retry', 'retried', 'ed'],
  ['call', 'calls', 's'],
] as const)('%s and %s are forms of one word', ([word, other, form]) => {
  assert.deepEqual(stemOf(other), { stem: stemOf(word).stem, form });
});

test.for([
  ['head', 'heading'],
  ['see', 'seed'],
  ['new', 'news'],
  ['statu', 'status'],
] as const)('%s and %s are two words', ([word, other]) =>
  assert.notEqual(stemOf(word).stem, stemOf(other).stem),
);
