import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createFraming, createHeaderSplitter } from '../../hub/jsonrpc/framing.ts';

type Heard =
  | { message: string }
  | { oversized: readonly [string, string, number] }
  | { broken: string };

/** Returns what is read of these bytes if they arrive in pieces of `size` bytes. */
function read(bytes: Buffer, size: number, maxMessageBytes = 1_000_000): readonly Heard[] {
  const heard: Heard[] = [];
  const framing = createFraming(
    { maxMessageBytes },
    {
      message: message => void heard.push({ message: message.toString() }),
      oversized: (head, tail, length) =>
        void heard.push({ oversized: [head.toString(), tail.toString(), length] }),
      broken: reason => void heard.push({ broken: reason }),
    },
  );
  for (let at = 0; at < bytes.length; at += size)
    framing.push(Buffer.from(bytes.subarray(at, at + size)));
  return heard;
}

const messages = ['{"id":1}', '{"text":"grüß ☃\\n"}', '[{"id":2}]'];
const lines = Buffer.from(messages.map(text => `${text}\n`).join(''));
const header = (text: string, more = '') =>
  `Content-Length: ${Buffer.byteLength(text)}\r\n${more}\r\n${text}`;
const sizes = [1, 2, 3, 7, 64, 10_000];

describe('messages are read, wherever their bytes are split,', () => {
  for (const [name, text] of [
    ['a line each', lines.toString()],
    ['a line each, with empty lines between', `\n \r\n${messages.join('\r\n\n \n')}\n`],
    ['behind headers', messages.map(message => header(message)).join('')],
    [
      'behind headers in another order and case',
      messages
        .map(message =>
          header(message, 'Content-Type: application/json\r\n').replace('Length', 'LENGTH'),
        )
        .join(''),
    ],
    [
      'behind headers with bare line breaks',
      messages
        .map(message => header(message))
        .join('')
        .replaceAll('\r', ''),
    ],
    [
      'behind headers, with line breaks between',
      `\r\n${messages.map(message => header(message)).join('\r\n\n')}`,
    ],
  ] as const)
    test(name, () => {
      for (const size of sizes)
        assert.deepEqual(
          read(Buffer.from(text), size).map(heard => Object.values(heard)[0].trim()),
          messages,
          `in pieces of ${size}`,
        );
    });
});

test('a message above the limit is discarded, and its beginning and end are reported', () => {
  const long = `{"id":9,"text":"${'x'.repeat(5_000)}","end":true}`;
  const ends = [long.slice(0, 1024), long.slice(-1024), long.length];
  for (const size of [1, 100, 1023, 1024, 1025, 10_000]) {
    const expected = [{ message: '{"id":1}' }, { oversized: ends }, { message: '{"id":2}' }];
    const framed = ['{"id":1}', long, '{"id":2}'];
    const asLines = Buffer.from(framed.map(text => `${text}\n`).join(''));
    assert.deepEqual(read(asLines, size, 1_500), expected, `lines in pieces of ${size}`);
    const asHeaders = Buffer.from(framed.map(text => header(text)).join(''));
    assert.deepEqual(read(asHeaders, size, 1_500), expected, `headers in pieces of ${size}`);
  }
});

test.for([
  ['Content-Type: application/json\r\n\r\n{}', 'a header without a Content-Length'],
  ['Content-Length: -5\r\n\r\n{}', 'a header without a Content-Length'],
  [`Content-Length: 5${' '.repeat(5_000)}`, 'a header does not end'],
])('after an invalid header nothing is read: %j', ([text, reason]) => {
  for (const size of sizes)
    assert.deepEqual(read(Buffer.from(`${text}${header('{}')}`), size), [{ broken: reason }]);
});

test('messages are written in the framing that the other end uses', () => {
  const ignored = { message() {}, oversized() {}, broken() {} };
  const sent = (first: string) => {
    const framing = createFraming({ maxMessageBytes: 100 }, ignored);
    framing.push(Buffer.from(first));
    return framing.piecesOf([Buffer.from('{"ü":1}'), Buffer.from('{}')]).join('');
  };
  assert.equal(sent(''), '{"ü":1}\n{}\n');
  assert.equal(sent('{}\n'), '{"ü":1}\n{}\n');
  assert.equal(sent('C'), 'Content-Length: 8\r\n\r\n{"ü":1}Content-Length: 2\r\n\r\n{}');
  assert.equal(sent('\r\ncontent-length: 2\r\n\r\n{}'), sent('C'));
});

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
  test(`messages are split by their lengths, in chunks of ${chunkBytes} bytes`, () => {
    const { push, messages, broken } = open();
    push(`${framed('{"a":"ü"}')}\r\n${framed('{}')}Content-Length: 0\r\n\r\n`, chunkBytes);
    push('Content-Type: x\ncontent-length:2\n\n[]', chunkBytes);
    assert.deepEqual(messages, ['{"a":"ü"}', '{}', '[]']);
    assert.deepEqual(broken, []);
  });

for (const chunkBytes of [1, 1_000, 100_000])
  test(`the beginning and end of a message above the limit are kept, in chunks of ${chunkBytes} bytes`, () => {
    const { push, messages, oversized } = open(2_000);
    const body = `${'a'.repeat(1_500)}${'b'.repeat(1_500)}`;
    push(framed(body) + framed('{}'), chunkBytes);
    assert.deepEqual(oversized, [
      { head: 'a'.repeat(1_024), tail: 'b'.repeat(1_024), bytes: 3_000 },
    ]);
    assert.deepEqual(messages, ['{}']);
  });

test('a short message above the limit is kept completely', () => {
  const { push, oversized } = open(2);
  push(framed('abc'));
  assert.deepEqual(oversized, [{ head: 'abc', tail: 'abc', bytes: 3 }]);
});

test.each([
  ['Content-Type: x\r\n\r\n{}', 'a header without a Content-Length'],
  ['x'.repeat(2_000), 'a header does not end'],
])('another header breaks the stream once, and nothing more is read', (text, reason) => {
  const { push, messages, broken } = open();
  push(text);
  push(framed('{}'));
  assert.deepEqual(broken, [reason]);
  assert.deepEqual(messages, []);
});
