import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createStderrLines } from '#runtimes';

function linesOf(...chunks: readonly (string | Buffer)[]): string[] {
  const lines: string[] = [];
  const stderr = createStderrLines(line => lines.push(line));
  for (const chunk of chunks) stderr.push(Buffer.from(chunk));
  stderr.end();
  return lines;
}

test('lines are split at line breaks, wherever the chunks end', () => {
  assert.deepEqual(linesOf('a\nb', 'c\n', '\nd\r\ne'), ['a', 'bc', 'd', 'e']);
});

test('a character that is split between chunks is decoded correctly', () => {
  const bytes = Buffer.from('grün\n');
  assert.deepEqual(linesOf(bytes.subarray(0, 3), bytes.subarray(3)), ['grün']);
});

test('a line without an end is cut, and the next one is complete', () => {
  const [first, second] = linesOf('x'.repeat(3000), 'y'.repeat(3000), 'z'.repeat(9000), '\nnext\n');
  assert.equal(first, 'x'.repeat(3000) + 'y'.repeat(1096));
  assert.equal(second, 'next');
});

test('nothing is reported without output', () => {
  assert.deepEqual(linesOf('\n\n', ' \n'), []);
});
