import assert from 'node:assert/strict';
import { test } from 'vitest';
import { bytesOf, sizePattern } from '../../hub/config/size.ts';

test.for([
  [1024, 1024],
  ['1024', 1024],
  ['10b', 10],
  ['1k', 1024],
  ['512m', 536_870_912],
  ['512MB', 536_870_912],
  ['512MiB', 536_870_912],
  ['1.5G', 1_610_612_736],
  ['1t', 1_099_511_627_776],
] as const)('%s is %i bytes', ([size, bytes]) => {
  if (typeof size === 'string') assert.match(size, sizePattern);
  assert.equal(bytesOf(size), bytes);
});

test.for(['', 'm', '-1m', '1 m', '1e3', '1.m', '5bb', '5q', '0x10'])('%j is not a size', text => {
  assert.doesNotMatch(text, sizePattern);
});
