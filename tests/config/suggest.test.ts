import assert from 'node:assert/strict';
import { test } from 'vitest';
import { findClosest } from '../../hub/config/suggest.ts';

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
] as const)('%j was meant to be %j', ([word, expected]) => {
  assert.equal(findClosest(word, keys), expected);
});
