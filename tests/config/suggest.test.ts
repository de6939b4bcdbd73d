import assert from 'node:assert/strict';
import { test } from 'vitest';
import { findClosest, nearest } from '../../hub/config/suggest.ts';

const keys = ['command', 'args', 'auto_start', 'url', 'memory', 'env'];

test.for([
  ['comand', 'command'],
  ['Commands', 'command'],
  ['arg', 'args'],
  ['agrs', 'args'],
  ['autoStart', 'auto_start'],
  ['auto-start', 'auto_start'],
  ['httpUrl', 'url'],
  ['mem', 'memory'],
  ['environment', undefined],
  ['privileged', undefined],
  ['x', undefined],
  ['', undefined],
] as const)('the suggestion for %j is %j', ([word, expected]) => {
  assert.equal(findClosest(word, keys), expected);
});

test('the nearest keys come first, up to the limit', () => {
  assert.deepEqual(nearest('arms', keys, 3), ['args', 'url', 'env']);
  assert.deepEqual(nearest('args', keys, 1), ['args']);
  assert.deepEqual(nearest('args', [], 3), []);
});
