import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { memoryInUse } from '#helpers/memory';
import { createEventParser } from '../../hub/jsonrpc/event-parser.ts';

type Seen = {
  events: string[];
  oversized: { head: string; tail: string; bytes: number }[];
  retries: number[];
};

function parse(chunks: readonly (string | Buffer)[], maxBytes = 1000): Seen {
  const seen: Seen = { events: [], oversized: [], retries: [] };
  const parser = createEventParser(
    { maxBytes },
    {
      event: ({ type, id, data }) =>
        void seen.events.push(`${type} ${id ?? '-'} ${data.toString()}`),
      oversized: (head, tail, bytes) =>
        void seen.oversized.push({ head: head.toString(), tail: tail.toString(), bytes }),
      retry: ms => void seen.retries.push(ms),
    },
  );
  for (const chunk of chunks) parser.push(Buffer.from(chunk));
  return seen;
}

describe('reading server-sent events', () => {
  test.for([
    ['an event', 'data: one\n\n', ['message - one']],
    ['no space after the colon', 'data:one\n\n', ['message - one']],
    ['only one space is taken', 'data:  one\n\n', ['message -  one']],
    ['several lines of data', 'data: one\ndata\ndata: three\n\n', ['message - one\n\nthree']],
    ['a type and an id', 'event: endpoint\nid: 7\ndata: /m\n\n', ['endpoint 7 /m']],
    ['a type that is for one event', 'event: a\ndata: 1\n\ndata: 2\n\n', ['a - 1', 'message - 2']],
    ['an id without data, which primes', 'id: 7\ndata:\n\n', ['message 7 ']],
    ['an id alone', 'id: 7\n\n', ['message 7 ']],
    ['comments', ': keep-alive\n\n:\ndata: one\n\n', ['message - one']],
    ['unknown fields', 'what: ever\ndata: one\n\n', ['message - one']],
    ['an id with a null, which is ignored', 'id: a\0b\ndata: one\n\n', ['message - one']],
    ['a byte order mark', '\ufeffdata: one\n\n', ['message - one']],
    ['carriage returns', 'data: one\r\rdata: two\r\r', ['message - one', 'message - two']],
    ['both', 'data: one\r\n\r\ndata: two\r\n\r\n', ['message - one', 'message - two']],
    ['an unfinished event, which is dropped', 'data: one\n\ndata: two\n', ['message - one']],
    ['text beyond ASCII', 'data: äöü€😀\n\n', ['message - äöü€😀']],
  ] as const)('%s', ([, text, events]) => {
    assert.deepEqual(parse([text]).events, events);
    const bytes = Buffer.from(text);
    for (let cut = 0; cut <= bytes.length; cut++)
      assert.deepEqual(parse([bytes.subarray(0, cut), bytes.subarray(cut)]).events, events);
    assert.deepEqual(parse(Array.from(bytes, byte => Buffer.of(byte))).events, events);
  });

  test('returns the delay before the next connection', () => {
    assert.deepEqual(parse(['retry: 1500\nretry: soon\n\n']).retries, [1500]);
  });

  test('discards an event above the limit, keeps its beginning and end, and continues', () => {
    const long = `{"id":1,${'x'.repeat(5000)},"end":1}`;
    const text = Buffer.from(`id: 1\ndata: ${long}\nid: 2\n\ndata: next\n\n`);
    for (const size of [1, 7, 100, 4096, 100_000]) {
      const chunks: Buffer[] = [];
      for (let at = 0; at < text.length; at += size) chunks.push(text.subarray(at, at + size));
      const seen = parse(chunks);
      assert.deepEqual(seen.events, ['message - next']);
      assert.equal(seen.oversized.length, 1);
      assert.equal(seen.oversized[0]?.bytes, long.length);
      assert.ok(seen.oversized[0]?.head.startsWith('{"id":1,'));
      assert.ok(seen.oversized[0]?.tail.endsWith('"end":1}'));
    }
  });

  test('discards an event of many short lines above the limit', () => {
    const seen = parse([...Array.from({ length: 200 }, () => 'data: 0123456789\n'), '\n']);
    assert.deepEqual(seen.events, []);
    assert.equal(seen.oversized.length, 1);
  });

  test.each([1023, 1024, 1025, 3000])('joins %d lines of data', count => {
    const lines = Array.from({ length: count }, (_, at) => String(at % 7));
    const { events } = parse([...lines.map(line => `data: ${line}\n`), '\n'], 10_000);
    assert.deepEqual(events, [`message - ${lines.join('\n')}`]);
  });

  test('needs little memory for an event of 300,000 empty lines', async () => {
    let length = 0;
    const parser = createEventParser(
      { maxBytes: 2 ** 21 },
      { event: ({ data }) => (length = data.length), oversized() {}, retry() {} },
    );
    const lines = 'data:\n'.repeat(1_000);
    const beforeBytes = await memoryInUse();
    for (let count = 0; count < 300; count++) parser.push(Buffer.from(lines));
    // One buffer for each line would need more than 30 MB.
    assert.ok((await memoryInUse()) - beforeBytes < 10 * 2 ** 20);
    parser.push(Buffer.from('\n'));
    assert.equal(length, 299_999);
  });

  test('reads an event of 50 MB in linear time', () => {
    const chunk = Buffer.alloc(16_384, 'x');
    const took = (chunks: number) => {
      const cpuMs = startCpuTimer();
      let length = 0;
      const parser = createEventParser(
        { maxBytes: 2 ** 26 },
        { event: ({ data }) => (length = data.length), oversized() {}, retry() {} },
      );
      parser.push(Buffer.from('data: '));
      for (let count = 0; count < chunks; count++) parser.push(chunk);
      parser.push(Buffer.from('\n\n'));
      assert.equal(length, chunks * chunk.length);
      return cpuMs();
    };
    took(100);
    // A quadratic parser would need minutes.
    assert.ok(took(3200) < 2000);
  });
});
