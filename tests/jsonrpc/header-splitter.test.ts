import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createHeaderSplitter } from '../../hub/jsonrpc/header-splitter.ts';

function open(maxMessageBytes = 1_000) {
  const messages: string[] = [];
  const oversized: { head: string; tail: string; bytes: number }[] = [];
  const broken: string[] = [];
  const splitter = createHeaderSplitter(
    { maxMessageBytes },
    {
      message: bytes => void messages.push(bytes.toString()),
      oversized: (head, tail, bytes) =>
        void oversized.push({ head: head.toString(), tail: tail.toString(), bytes }),
      broken: reason => void broken.push(reason),
    },
  );
  const push = (text: string, chunkBytes = text.length) => {
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += chunkBytes)
      splitter.push(bytes.subarray(at, at + chunkBytes));
  };
  return { push, messages, oversized, broken };
}

const framed = (body: string) => `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;

for (const chunkBytes of [1, 2, 7, 10_000])
  test(`messages are cut by their lengths, in chunks of ${chunkBytes} bytes`, () => {
    const { push, messages, broken } = open();
    push(`${framed('{"a":"ü"}')}\r\n${framed('{}')}Content-Length: 0\r\n\r\n`, chunkBytes);
    push('Content-Type: x\ncontent-length:2\n\n[]', chunkBytes);
    assert.deepEqual(messages, ['{"a":"ü"}', '{}', '[]']);
    assert.deepEqual(broken, []);
  });

for (const chunkBytes of [1, 1_000, 100_000])
  test(`of a message above the bound both ends are kept, in chunks of ${chunkBytes} bytes`, () => {
    const { push, messages, oversized } = open(2_000);
    const body = `${'a'.repeat(1_500)}${'b'.repeat(1_500)}`;
    push(framed(body) + framed('{}'), chunkBytes);
    assert.deepEqual(oversized, [
      { head: 'a'.repeat(1_024), tail: 'b'.repeat(1_024), bytes: 3_000 },
    ]);
    assert.deepEqual(messages, ['{}']);
  });

test('of a short message above the bound all is kept', () => {
  const { push, oversized } = open(2);
  push(framed('abc'));
  assert.deepEqual(oversized, [{ head: 'abc', tail: 'abc', bytes: 3 }]);
});

test.each([
  ['Content-Type: x\r\n\r\n{}', 'a header without a Content-Length'],
  ['x'.repeat(2_000), 'a header does not end'],
])('a stream with another header is broken once, and nothing more is read', (text, reason) => {
  const { push, messages, broken } = open();
  push(text);
  push(framed('{}'));
  assert.deepEqual(broken, [reason]);
  assert.deepEqual(messages, []);
});
