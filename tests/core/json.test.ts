import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isObject } from '#core';

test.each([
  [{}, true],
  [{ a: 1 }, true],
  [Object.create(null), true],
  [[], false],
  [null, false],
  [undefined, false],
  ['{}', false],
  [0, false],
  [isObject, false],
])('%j is an object: %s', (value, expected) => {
  assert.equal(isObject(value), expected);
});
