import assert from 'node:assert/strict';
import { test } from 'vitest';
import { writeDigits, writeWhole } from '../../hub/audit/digits.ts';

const written = (write: (to: Buffer) => number): string => {
  const to = Buffer.alloc(32, '-');
  const end = write(to);
  assert.match(to.toString('latin1', end), /^-*$/);
  return to.toString('latin1', 0, end);
};

test.each([
  0,
  7,
  9,
  10,
  99,
  100,
  123_456_789,
  999_999_999,
  1_000_000_000,
  1_000_000_001,
  2 ** 31,
  2 ** 40 + 7,
  999_999_999_999_999,
  Number.MAX_SAFE_INTEGER,
])('%d is written as String writes it', value => {
  assert.equal(
    written(to => writeWhole(to, 0, value)),
    String(value),
  );
});

test.each([
  [0, 3, '000'],
  [7, 3, '007'],
  [120, 3, '120'],
  [1_234, 3, '234'],
  [5, 9, '000000005'],
])('%d in %d digits is %s', (value, digits, expected) => {
  assert.equal(
    written(to => writeDigits(to, 0, value, digits)),
    expected,
  );
});
