import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createSharedMap } from '#core';

describe('a shared map', () => {
  test('evicts the oldest entry of an owner at its share, and none of others', () => {
    const map = createSharedMap<number>(10, 2);
    map.set('a', 1, 'ada');
    for (const [index, key] of ['x', 'y', 'z'].entries()) map.set(key, index, 'bob');
    assert.deepEqual(
      ['a', 'x', 'y', 'z'].map(key => map.get(key)),
      [1, undefined, 1, 2],
    );
    assert.deepEqual([map.valuesOf('bob'), map.valuesOf('eve')], [[1, 2], []]);
    assert.deepEqual([map.countOf('ada'), map.countOf('bob'), map.countOf('eve')], [1, 2, 0]);
  });

  test('evicts the oldest entry of all at the maximum', () => {
    const map = createSharedMap<number>(2, 2);
    for (const [index, owner] of ['ada', 'bob', 'eve'].entries()) map.set(owner, index, owner);
    assert.deepEqual(map.values(), [1, 2]);
    assert.equal(map.countOf('ada'), 0);
  });

  test('moves an entry that is set again to its new owner and to the end', () => {
    const map = createSharedMap<number>(2, 2);
    map.set('a', 1, 'ada');
    map.set('b', 2, 'bob');
    map.set('a', 3, 'bob');
    assert.deepEqual([map.values(), map.countOf('ada'), map.countOf('bob')], [[2, 3], 0, 2]);
  });

  test('returns whether it removed something', () => {
    const map = createSharedMap<number>(2, 2);
    map.set('a', 1, 'ada');
    assert.deepEqual([map.remove('a'), map.remove('a'), map.size], [true, false, 0]);
    assert.equal(map.countOf('ada'), 0);
  });
});
