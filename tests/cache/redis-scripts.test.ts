import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readEntry } from '../../hub/cache/redis-scripts.ts';

const hourMs = 3_600_000;
const text = `${hourMs} ${2 * hourMs} of a`;

test('the age of an entry is by the time of Redis, and the entry ends at its TTL', () => {
  assert.deepEqual(readEntry(text, hourMs + 99.5), { value: 'of a', ageMs: 99 });
  assert.deepEqual(readEntry(text, 2 * hourMs - 1), { value: 'of a', ageMs: hourMs - 1 });
  assert.equal(readEntry(text, 2 * hourMs), undefined);
  assert.deepEqual(readEntry(`${hourMs} ${2 * hourMs} `, hourMs), { value: '', ageMs: 0 });
});

test('an entry written in the future is ignored, unless by no more than a clock skew', () => {
  assert.deepEqual(readEntry(text, hourMs - 500), { value: 'of a', ageMs: 0 });
  assert.equal(readEntry(text, hourMs - 5_000), undefined);
});

test('the value of another program is not an entry', () => {
  for (const other of [
    '',
    ' ',
    'of a',
    `${hourMs}`,
    `x ${2 * hourMs} of a`,
    `${hourMs} x of a`,
    '1e3 1e300 {"x":1}',
    '1 Infinity x',
    `0x1 ${2 * hourMs} x`,
    `1  ${hourMs}9 x`,
  ])
    assert.equal(readEntry(other, hourMs), undefined, other);
});
