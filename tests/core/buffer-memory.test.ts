import assert from 'node:assert/strict';
import { test } from 'vitest';
import { freeBuffer, moveToPages } from '#core';

const large = 16 * 1024;
/** Returns a buffer with its own ArrayBuffer. */
const ownBuffer = (bytes: number) => Buffer.from(new ArrayBuffer(bytes)).fill('x');

test('a large buffer that is alone in its ArrayBuffer is freed', () => {
  const bytes = ownBuffer(large);
  freeBuffer(bytes);
  assert.equal(bytes.length, 0);
});

test.each([
  ['a small buffer', ownBuffer(large - 1)],
  ['a part of a buffer', ownBuffer(2 * large).subarray(0, large)],
  ['a buffer on its own pages', moveToPages(ownBuffer(large))],
])('%s is left unchanged', (_, bytes) => {
  const { length } = bytes;
  freeBuffer(bytes);
  assert.equal(bytes.length, length);
  assert.equal(bytes[0], 'x'.charCodeAt(0));
});

test('a large buffer is moved to resizable memory, and its own memory is freed', () => {
  const bytes = ownBuffer(large);
  const moved = moveToPages(bytes);
  assert.equal(bytes.length, 0);
  assert.equal(moved.toString(), 'x'.repeat(large));
  assert.ok(moved.buffer instanceof ArrayBuffer && moved.buffer.resizable);
});

test('a small buffer is not moved', () => {
  const bytes = ownBuffer(large - 1);
  assert.equal(moveToPages(bytes), bytes);
});
