import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'vitest';
import { jsonLines } from '../../../../hub/runtimes/docker/engine/json-lines.ts';

async function read(...chunks: readonly (string | Buffer)[]): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for await (const value of jsonLines(Readable.from(chunks, { objectMode: false })))
    found.push(value);
  return found;
}

test('each line is an object, wherever the chunks are cut', async () => {
  assert.deepEqual(await read('{"a"', ':1}\n{"b":2}\r\n', '\n{"c":3}\n'), [
    { a: 1 },
    { b: 2 },
    { c: 3 },
  ]);
});

test('a character that two chunks share is one character', async () => {
  const bytes = Buffer.from('{"a":"ü"}\n');
  assert.deepEqual(await read(bytes.subarray(0, 7), bytes.subarray(7)), [{ a: 'ü' }]);
});

test('the last line needs no line break', async () => {
  assert.deepEqual(await read('{"a":1}\n{"b":2}'), [{ a: 1 }, { b: 2 }]);
});

test('a line that is cut off, and one that is no object, are left out', async () => {
  assert.deepEqual(await read('[1]\nnot json\n{"a":1}\n{"b":'), [{ a: 1 }]);
});
