import assert from 'node:assert/strict';
import { test } from 'vitest';
import { readEntry } from '../../hub/cache/redis-scripts.ts';

const hourMs = 3_600_000;
const text = `${hourMs} ${2 * hourMs} of a`;

test('an entry is as old as the time of Redis says, and none from its end on', () => {
  assert.deepEqual(readEntry(text, hourMs + 99.5), { value: 'of a', ageMs: 99 });
  assert.deepEqual(readEntry(text, 2 * hourMs - 1), { value: 'of a', ageMs: hourMs - 1 });
  assert.equal(readEntry(text, 2 * hourMs), undefined);
  assert.deepEqual(readEntry(`${hourMs} ${2 * hourMs} `, hourMs), { value: '', ageMs: 0 });
});

test('an entry that was written later than now is none, unless two clocks are but a moment apart', () => {
  assert.deepEqual(readEntry(text, hourMs - 500), { value: 'of a', ageMs: 0 });
  assert.equal(readEntry(text, hourMs - 5_000), undefined);
});

test('the value of another program is no entry', () => {
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
