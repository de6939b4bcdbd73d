import assert from 'node:assert/strict';
import { test } from 'vitest';
import { type FairQueue, createFairQueue } from '#core';

function filled(...entries: readonly string[]): FairQueue<string> {
  const queue = createFairQueue<string>();
  for (const entry of entries) queue.append(entry.slice(0, 1), entry);
  return queue;
}

function drain(queue: FairQueue<string>): readonly string[] {
  const taken: string[] = [];
  for (let next = queue.take(); next !== undefined; next = queue.take()) taken.push(next);
  return taken;
}

test('owners take turns, each with its entries in order', () => {
  const queue = filled('a1', 'a2', 'a3', 'b1', 'c1', 'c2');
  assert.equal(queue.length, 6);
  assert.deepEqual(drain(queue), ['a1', 'b1', 'c1', 'a2', 'c2', 'a3']);
  assert.deepEqual([queue.length, queue.take()], [0, undefined]);
});

test('an entry is removed from any position, once, and not after it was taken', () => {
  const queue = filled('a1', 'b1');
  const leaves = ['a2', 'a3', 'c1'].map(entry => queue.append(entry.slice(0, 1), entry));
  leaves[0]?.();
  leaves[0]?.();
  leaves[2]?.();
  assert.equal(queue.length, 3);
  assert.deepEqual(drain(queue), ['a1', 'b1', 'a3']);
  leaves[1]?.();
  assert.equal(queue.length, 0);
});

test('the newest entry of the owner with the most is dropped, down to equal shares', () => {
  const queue = filled('a1', 'a2', 'a3', 'b1');
  assert.equal(queue.newestOfLongest('c'), 'a3');
  assert.equal(queue.newestOfLongest('b'), 'a3');
  assert.equal(queue.newestOfLongest('a'), undefined);
  queue.append('b', 'b2');
  assert.equal(queue.newestOfLongest('b'), undefined);
});

test('the owner that was served last comes after those who join later', () => {
  const queue = filled('a1');
  assert.equal(queue.take(), 'a1');
  for (const entry of ['a2', 'a3', 'b1', 'c1']) queue.append(entry.slice(0, 1), entry);
  assert.equal(queue.take(), 'b1');
  queue.append('d', 'd1');
  assert.deepEqual(drain(queue), ['c1', 'a2', 'd1', 'a3']);
});
