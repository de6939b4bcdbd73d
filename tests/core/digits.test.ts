import assert from 'node:assert/strict';
import { test } from 'vitest';
import { writeMilliseconds, writeShort, writeThree, writeWhole } from '../../hub/core/digits.ts';

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
])('%d is written like String writes it', value => {
  assert.equal(
    written(to => writeWhole(to, 0, value)),
    String(value),
  );
});

test('each number below 1,000 is written with three digits', () => {
  for (let value = 0; value < 1_000; value++)
    assert.equal(
      written(to => writeThree(to, 0, value)),
      String(value).padStart(3, '0'),
    );
});

test('each number below 100,000 is written like String writes it', () => {
  for (let value = 0; value < 100_000; value++)
    if (written(to => writeWhole(to, 0, value)) !== String(value)) assert.fail(String(value));
});

test.each([
  [0, '0.000'],
  [0.0004, '0.000'],
  [12.0567, '12.057'],
  [0.9996, '1.000'],
  [1_750_000_000_000.25, '1750000000000.250'],
])('%d ms are written as %s', (value, text) => {
  assert.equal(
    written(to => writeMilliseconds(to, 0, value)),
    text,
  );
});

test('bytes are copied', () => {
  assert.equal(
    written(to => writeShort(to, 0, Buffer.from('"at":'))),
    '"at":',
  );
});
