import assert from 'node:assert/strict';
import { test } from 'vitest';
import { decodePercent, decodeText, shellWord } from '#core';

test.each([
  ['', ''],
  ['a\u{1f600}', 'a\u{1f600}'],
  [Uint8Array.of(65, 0), undefined],
  [Uint8Array.of(0xff, 0xfe), undefined],
  // A view of a larger buffer.
  [new TextEncoder().encode('abcd').subarray(1, 3), 'bc'],
])('%o is decoded to the text %o', (content, text) => {
  assert.equal(decodeText(typeof content === 'string' ? Buffer.from(content) : content), text);
});

test.each([
  ['/data/secrets.key', '/data/secrets.key'],
  ['/a b/$HOME', "'/a b/$HOME'"],
  ["it's", "'it'\\''s'"],
  ['', "''"],
])('%j is the word %s of a shell', (text, word) => assert.equal(shellWord(text), word));

test.each([
  ['a%20b%2F', 'a b/'],
  ['100%', '100%'],
  ['%20 and %zz', '%20 and %zz'],
])('the percent escapes of %j are decoded: %j', (text, decoded) => {
  assert.equal(decodePercent(text), decoded);
});
