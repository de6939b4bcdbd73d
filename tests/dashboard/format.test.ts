import assert from 'node:assert/strict';
import { test } from 'vitest';
import { ago, brief, bytes, duration, percent } from '../../hub/dashboard/format.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;

const rows: readonly (readonly [said: string, expected: string])[] = [
  [duration(0), '0 ms'],
  [duration(0.0049), '0 ms'],
  [duration(0.005), '0.01 ms'],
  [duration(0.034), '0.03 ms'],
  [duration(4.25), '4.3 ms'],
  [duration(12.6), '13 ms'],
  [duration(1_500), '1.5 s'],
  [duration(59.9 * second), '59 s'],
  [duration(3 * minute + 59 * second), '3 min'],
  [duration(3 * hour + 5 * minute), '3 h 5 min'],
  [duration(3 * hour), '3 h'],
  [duration(49 * hour), '2 d 1 h'],
  [ago(5_000, 10_000), 'just now'],
  [ago(20_000, 10_000), 'just now'],
  [ago(0, 3 * minute), '3 min ago'],
  [bytes(0), '0 B'],
  [bytes(1023), '1023 B'],
  [bytes(1536), '1.5 KiB'],
  [bytes(512 * 2 ** 20), '512 MiB'],
  [bytes(3 * 2 ** 50), '3072 TiB'],
  [percent(0), '0 %'],
  [percent(0.0001), '0 %'],
  [percent(0.025), '2.5 %'],
  [percent(1 / 3), '33 %'],
  [percent(1), '100 %'],
  [brief('Looks it up. Then more.'), 'Looks it up.'],
  [brief('v1.2 is old\nnew line'), 'v1.2 is old'],
  [brief('x'.repeat(200)), `${'x'.repeat(159)}…`],
  [brief('  '), ''],
  [brief('\n \n Looks it up!\nThen more.'), 'Looks it up!'],
];
for (const [said, expected] of rows)
  test(`is formatted as ${expected}`, () => {
    assert.equal(said, expected);
  });

test('the first sentence is found in linear time, as descriptions of servers may have megabytes', () => {
  const before = performance.now();
  for (const end of ['x', '.x', 'x.']) assert.equal(brief(`${' '.repeat(200_000)}${end}`), end);
  const tookMs = performance.now() - before;
  assert.ok(tookMs < 2_000, `it took ${tookMs} ms`);
});
