import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readEntry } from '../../hub/cache/redis-entry.ts';

const hourMs = 3_600_000;

test('an entry is as old as its remaining time to live says', () => {
  const text = `${hourMs} of a`;
  assert.deepEqual(readEntry({ text, ttlMs: hourMs - 99 }), { value: 'of a', ageMs: 99 });
  assert.deepEqual(readEntry({ text, ttlMs: 0 }), { value: 'of a', ageMs: hourMs });
  assert.deepEqual(readEntry({ text: `${hourMs} `, ttlMs: hourMs }), { value: '', ageMs: 0 });
});

test('an entry that lives longer than it should is none, unless the clock was corrected by a moment', () => {
  const text = `${hourMs} of a`;
  assert.deepEqual(readEntry({ text, ttlMs: hourMs + 500 }), { value: 'of a', ageMs: 0 });
  assert.equal(readEntry({ text, ttlMs: hourMs + 5_000 }), undefined);
});

test('an entry without a time to live, or one that just expired, is none', () => {
  for (const ttlMs of [-1, -2]) assert.equal(readEntry({ text: `${hourMs} a`, ttlMs }), undefined);
});

test('the value of another program is no entry', () => {
  for (const text of [
    '',
    ' ',
    'of a',
    `${hourMs}`,
    ' of a',
    'x of a',
    '1e9 {"x":1}',
    '0x9 x',
    '-1 x',
  ])
    assert.equal(readEntry({ text, ttlMs: 1 }), undefined, text);
});
