import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { createLineSplitter } from '../../hub/jsonrpc/lines.ts';
import { createRandom, under } from './random-json.ts';

const MiB = 1024 * 1024;

/** Creates a splitter, and records the lines it hands over. */
function open(maxLineBytes: number) {
  const lines: string[] = [];
  const oversized: { head: string; tail: string; bytes: number }[] = [];
  const splitter = createLineSplitter(
    { maxLineBytes },
    {
      line: bytes => void lines.push(bytes.toString()),
      oversized: (head, tail, bytes) =>
        void oversized.push({ head: head.toString(), tail: tail.toString(), bytes }),
    },
  );
  return { splitter, lines, oversized };
}

test('splits lines wherever the chunks are split', () => {
  for (let seed = 0; seed < 1000; seed++) {
    const random = createRandom(seed);
    const piece = () =>
      ['\n', '\n\n', '\r\n', 'a', '漢', '😀', 'x'.repeat(30)][under(random, 7)] ?? '';
    const text = Array.from({ length: under(random, 60) }, piece).join('');
    const { splitter, lines, oversized } = open(MiB);
    for (let rest = Buffer.from(text); rest.length > 0;) {
      const size = 1 + under(random, 20);
      splitter.push(Buffer.from(rest.subarray(0, size)));
      rest = rest.subarray(size);
    }
    const expected = text.split('\n');
    const unfinished = expected.pop();
    assert.deepEqual(lines, expected, `seed ${seed}`);
    assert.equal(splitter.end().toString(), unfinished, `seed ${seed}`);
    assert.deepEqual(oversized, []);
  }
});

test('leaves the CR of CRLF in the line, where it is white space of JSON', () => {
  const { splitter, lines } = open(100);
  splitter.push(Buffer.from('a\r\n\r\nb\r'));
  splitter.push(Buffer.from('\n'));
  assert.deepEqual(lines, ['a\r', '\r', 'b\r']);
});

test('removes the byte order mark of a stream, and of no later line', () => {
  const bytes = Buffer.from('\ufeffone\n\ufefftwo\n');
  for (const size of [1, 2, 3, 100]) {
    const { splitter, lines } = open(100);
    for (let at = 0; at < bytes.length; at += size)
      splitter.push(Buffer.from(bytes.subarray(at, at + size)));
    assert.deepEqual(lines, ['one', '\ufefftwo'], `in pieces of ${size}`);
  }
});

test('does not write into the given chunks', () => {
  const { splitter, lines } = open(100);
  const chunk = Buffer.from('one\ntwo');
  const rest = Buffer.from('#after');
  splitter.push(chunk);
  splitter.push(rest.subarray(0, 1));
  splitter.push(Buffer.from('.\n'));
  assert.deepEqual(lines, ['one', 'two#.']);
  assert.equal(chunk.toString() + rest.toString(), 'one\ntwo#after');
});

describe('the limit', () => {
  const kept = 1024;
  for (const chunkBytes of [1, 7, 1000, 100_000])
    test(`admits a line of exactly its length and not one byte more, in chunks of ${chunkBytes}`, () => {
      const { splitter, lines, oversized } = open(5000);
      const exactly = 'a'.repeat(5000);
      const more = `${'b'.repeat(2500)}${'c'.repeat(2501)}`;
      const bytes = Buffer.from(`${exactly}\n${more}\nafter\n${more}${more}\nend\n`);
      for (let at = 0; at < bytes.length; at += chunkBytes)
        splitter.push(Buffer.from(bytes.subarray(at, at + chunkBytes)));
      assert.deepEqual(lines, [exactly, 'after', 'end']);
      assert.deepEqual(oversized, [
        { head: 'b'.repeat(kept), tail: 'c'.repeat(kept), bytes: 5001 },
        { head: 'b'.repeat(kept), tail: 'c'.repeat(kept), bytes: 10_002 },
      ]);
    });

  test('keeps the beginning and end of a line if its last chunk is short', () => {
    const { splitter, oversized } = open(10);
    splitter.push(Buffer.from('0123456789'));
    splitter.push(Buffer.from('abc'));
    splitter.push(Buffer.from('de\n'));
    assert.deepEqual(oversized, [{ head: '0123456789abc', tail: '0123456789abcde', bytes: 15 }]);
  });

  test('returns the beginning of an oversized line that never ended', () => {
    const { splitter, oversized } = open(10);
    splitter.push(Buffer.from('x'.repeat(5000)));
    assert.equal(splitter.end().toString(), 'x'.repeat(kept));
    assert.equal(splitter.end().length, 0);
    assert.deepEqual(oversized, []);
  });
});

describe('memory', () => {
  const used = () => {
    const { rss } = process.memoryUsage();
    return rss / MiB;
  };

  test('stays constant while a line of 1 GiB is discarded', () => {
    const { splitter, lines, oversized } = open(4 * MiB);
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const before = used();
    let most = 0;
    for (let pushed = 0; pushed < 1024 * MiB; pushed += chunk.length) {
      // A copy, because the splitter owns and frees the buffers that it gets.
      splitter.push(Buffer.from(chunk));
      most = Math.max(most, used() - before);
    }
    splitter.push(Buffer.from('\nnext\n'));
    assert.ok(most < 100, `grew by ${most} MiB`);
    assert.deepEqual(
      oversized.map(one => one.bytes),
      [1024 * MiB],
    );
    assert.deepEqual(lines, ['next']);
  });

  test('grows with the length of a line that arrives byte by byte', () => {
    const { splitter, lines } = open(8 * MiB);
    const before = used();
    const byte = Buffer.from('x');
    for (let pushed = 0; pushed < 4 * MiB; pushed++) splitter.push(byte.subarray(0, 1));
    const grown = used() - before;
    splitter.push(Buffer.from('\n'));
    assert.equal(lines[0]?.length, 4 * MiB);
    assert.ok(grown < 150, `grew by ${grown} MiB`);
  });
});

test('a line of 50 MiB in small chunks takes no more than linear time', () => {
  // Joining the whole line at every chunk, which is quadratic, would take minutes.
  const cpuMs = startCpuTimer();
  const chunk = Buffer.alloc(4 * 1024, 'x');
  let length = 0;
  const splitter = createLineSplitter(
    { maxLineBytes: 64 * MiB },
    { line: line => (length = line.length), oversized: () => assert.fail('within the bound') },
  );
  for (let pushed = 0; pushed < 50 * MiB; pushed += chunk.length) splitter.push(chunk);
  splitter.push(Buffer.from('\n'));
  assert.equal(length, 50 * MiB);
  assert.ok(cpuMs() < 10_000);
});
