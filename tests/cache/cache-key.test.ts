import assert from 'node:assert/strict';
import { test } from 'vitest';
import { cacheKey } from '#cache';

test('a key is the same for the same fields, and stays so', () => {
  assert.equal(cacheKey(['a', undefined]), cacheKey(['a', undefined]));
  assert.equal(
    cacheKey(['a', undefined]),
    'e46de6c22a33fec7c90a16d65b5947e4295abdf03f8ba52afa42c6a55e2c63a7',
  );
});

test('different fields never have one key', () => {
  const lists: readonly (readonly (string | undefined)[])[] = [
    [],
    [''],
    [undefined],
    ['', ''],
    ['a'],
    ['A'],
    ['a '],
    ['a', ''],
    ['', 'a'],
    ['a', undefined],
    ['ab'],
    ['a', 'b'],
    ['a;1:b'],
    ['-;'],
    ['ä'],
    ['a\u0308'],
    ['\ud83d'],
    ['\ud83e'],
    ['\ufffd'],
    ['1:a;'],
    ['a;'],
    ['a', 'b', 'c'],
    // This text contains the same bytes as the list before it, apart from the lengths.
    ['a\u623b\u3b00c'],
  ];
  assert.equal(new Set(lists.map(cacheKey)).size, lists.length);
});
