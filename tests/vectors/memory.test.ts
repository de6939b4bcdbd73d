import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type StoredVector, createMemory, createNearest } from '../../hub/vectors/memory.ts';

/** Size of a vector of two numbers, in bytes. */
const each = 512 + 8;
const stored = (number: number, vector = [1, 0], expiresAt = 100): StoredVector => ({
  number,
  vector: Float32Array.from(vector),
  expiresAt,
});
const chunkOf = (...numbers: readonly number[]) => ({
  vectors: numbers.map(number => stored(number)),
  upTo: numbers.at(-1) ?? 0,
});

/** Creates memory with room for `count` vectors. */
const openMemory = (count: number) => createMemory({ maxBytes: count * each });
type Memory = ReturnType<typeof createMemory>;

function readAll(memory: Memory, key: string, ...numbers: readonly number[]): void {
  memory.open(key);
  memory.append(key, 0, chunkOf(...numbers));
  memory.append(key, numbers.at(-1) ?? 0, undefined);
}
const numbersIn = (memory: Memory, key: string) => [...memory.open(key).vectors.keys()];

describe('a scope in memory', () => {
  test('is read in chunks, and complete after the last one', () => {
    const memory = openMemory(10);
    const scope = memory.open('a');
    assert.deepEqual([scope.upTo, scope.isComplete], [0, false]);
    memory.append('a', 0, chunkOf(1, 2));
    memory.append('a', 2, { vectors: [stored(5)], upTo: 6 });
    assert.deepEqual([scope.upTo, scope.isComplete], [6, false]);
    memory.append('a', 6, undefined);
    assert.equal(scope.isComplete, true);
    assert.deepEqual(numbersIn(memory, 'a'), [1, 2, 5]);
  });

  test('accepts no chunk out of order, and none if it was not opened', () => {
    const memory = openMemory(10);
    memory.append('a', 0, chunkOf(1));
    assert.deepEqual(numbersIn(memory, 'a'), []);
    memory.append('a', 0, chunkOf(1));
    memory.append('a', 0, chunkOf(1));
    memory.append('a', 4, undefined);
    assert.deepEqual([memory.open('a').upTo, memory.open('a').isComplete], [1, false]);
  });

  test('accepts a new point only if it is complete', () => {
    const memory = openMemory(10);
    memory.add('a', stored(1));
    memory.open('a');
    memory.add('a', stored(1));
    assert.deepEqual(numbersIn(memory, 'a'), []);
    readAll(memory, 'b', 1);
    memory.add('b', stored(2));
    assert.deepEqual([numbersIn(memory, 'b'), memory.open('b').upTo], [[1, 2], 2]);
  });

  test('without room for a new point is no longer complete, and is read on from there', () => {
    const memory = openMemory(2);
    readAll(memory, 'a', 1, 2);
    memory.add('a', stored(3));
    const { isComplete, upTo } = memory.open('a');
    assert.deepEqual([isComplete, upTo, numbersIn(memory, 'a')], [false, 2, [1, 2]]);
  });

  test('loses removed points, and then has room for others', () => {
    const memory = openMemory(2);
    readAll(memory, 'a', 1, 2);
    memory.remove('a', 1);
    memory.remove('a', 1);
    memory.remove('b', 1);
    memory.add('a', stored(3));
    assert.deepEqual(numbersIn(memory, 'a'), [2, 3]);
    memory.add('a', stored(4));
    assert.deepEqual(numbersIn(memory, 'a'), [2, 3]);
  });
});

describe('room in memory', () => {
  test('is made by dropping the scopes that were unused for longest, and no more of them than needed', () => {
    const memory = openMemory(3);
    for (const key of ['a', 'b', 'c']) readAll(memory, key, 1);
    memory.open('a');
    readAll(memory, 'd', 1, 2);
    assert.deepEqual(
      ['d', 'a', 'c', 'b'].map(key => numbersIn(memory, key)),
      [[1, 2], [1], [], []],
    );
  });

  test('is not made for a scope that is too large by itself', () => {
    const memory = openMemory(2);
    readAll(memory, 'a', 1);
    memory.open('b');
    memory.append('b', 0, chunkOf(1, 2, 3));
    assert.deepEqual([numbersIn(memory, 'a'), numbersIn(memory, 'b')], [[1], []]);
  });

  test('is not made at the expense of the same scope', () => {
    const memory = openMemory(3);
    memory.open('a');
    memory.append('a', 0, chunkOf(1, 2));
    memory.append('a', 2, chunkOf(3, 4));
    assert.deepEqual([numbersIn(memory, 'a'), memory.open('a').upTo], [[1, 2], 2]);
  });

  test('ends at a thousand scopes, empty ones included', () => {
    const memory = openMemory(10);
    readAll(memory, 'first', 1);
    for (let key = 0; key < 999; key++) memory.open(String(key));
    assert.deepEqual(numbersIn(memory, 'first'), [1]);
    for (let key = 0; key < 1_000; key++) memory.open(String(key));
    assert.deepEqual(numbersIn(memory, 'first'), []);
  });

  test('is all free after all was cleared', () => {
    const memory = openMemory(2);
    readAll(memory, 'a', 1, 2);
    memory.clear();
    assert.deepEqual(numbersIn(memory, 'a'), []);
    readAll(memory, 'b', 1, 2);
    assert.deepEqual(numbersIn(memory, 'b'), [1, 2]);
  });
});

describe('the nearest', () => {
  const find = (
    bounds: { readonly limit: number; readonly minScore: number },
    ...vectors: readonly StoredVector[]
  ) => {
    const nearest = createNearest(Float32Array.of(1, 0), bounds);
    for (const vector of vectors) nearest.add(vector, 50);
    return nearest.found.map(({ number, score }) => [number, Math.round(score * 10) / 10]);
  };
  const several = [
    stored(1, [0.6, 0.8]),
    stored(2, [1, 0]),
    stored(3, [-1, 0]),
    stored(4, [0.8, 0.6]),
    stored(5, [0.6, -0.8]),
  ];

  test.for([
    [
      { limit: 9, minScore: -2 },
      [
        [2, 1],
        [4, 0.8],
        [1, 0.6],
        [5, 0.6],
        [3, -1],
      ],
    ],
    [
      { limit: 3, minScore: -2 },
      [
        [2, 1],
        [4, 0.8],
        [1, 0.6],
      ],
    ],
    [
      { limit: 9, minScore: 0.7 },
      [
        [2, 1],
        [4, 0.8],
      ],
    ],
    [{ limit: 1, minScore: 1 }, []],
    [{ limit: 0, minScore: -2 }, []],
  ] as const)('within %o are %j', ([bounds, expected]) =>
    assert.deepEqual(find(bounds, ...several), expected),
  );

  test('do not include what has expired, nor a vector that is damaged', () => {
    const bounds = { limit: 9, minScore: -2 };
    const expired = [stored(1, [1, 0], 50), stored(2, [1, 0], 51), stored(3, [NaN, 0])];
    assert.deepEqual(find(bounds, ...expired), [[2, 1]]);
  });

  test.for([1, 2, 3, 4, 5, 8, 11])(
    'have their exact product in %i dimensions, and at most one',
    dimensions => {
      const query = Float32Array.from({ length: dimensions }, (_, at) => at + 1);
      const small = query.map(value => value / 10_000);
      const nearest = createNearest(query, { limit: 2, minScore: -2 });
      nearest.add({ number: 1, vector: small, expiresAt: 100 }, 0);
      nearest.add({ number: 2, vector: query, expiresAt: 100 }, 0);
      const product = query.reduce((sum, value) => sum + value * value, 0) / 10_000;
      assert.equal(nearest.found[0]?.score, 1);
      assert.ok(Math.abs((nearest.found[1]?.score ?? 0) - product) < 1e-6);
    },
  );
});
