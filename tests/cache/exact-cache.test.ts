import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isKeepable } from '../../hub/cache/exact-cache.ts';

test.for([
  ['a value', 1, true],
  ['', 1, true],
  ['a value', 0.9, false],
  ['a value', Number.NaN, false],
  ['\ud83d\ude00', 1, true],
  ['half of a pair: \ud83d', 1, false],
] as const)('whether the value %j with a TTL of %d ms is kept: %s', ([value, ttlMs, expected]) =>
  assert.equal(isKeepable(value, { tag: 't', ttlMs }), expected),
);
