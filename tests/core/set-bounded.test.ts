import assert from 'node:assert/strict';
import { test } from 'vitest';
import { setBounded } from '#core';

test('a map keeps the values that were set last', () => {
  const map = new Map<string, number>();
  for (const [value, key] of ['a', 'b', 'a', 'c'].entries()) setBounded(map, key, value, 2);
  assert.deepEqual(
    [...map],
    [
      ['a', 2],
      ['c', 3],
    ],
  );
});

test('a map that was larger than its bound shrinks to it', () => {
  const map = new Map([
    ['a', 0],
    ['b', 1],
    ['c', 2],
  ]);
  setBounded(map, 'd', 3, 2);
  assert.deepEqual([...map.keys()], ['c', 'd']);
});
