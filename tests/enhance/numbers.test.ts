import assert from 'node:assert/strict';
import { test } from 'vitest';
import { amountOf, compoundOf, numberOf } from '../../hub/enhance/numbers.ts';

test.for([
  ['10', 'ms', '10ms'],
  ['one', 'hour', '1h'],
  ['5', 'hundred', '500'],
  ['a', 'dozen', '12'],
  ['20', 'five', '25'],
  ['a', 'day', undefined],
  ['one', 'second', undefined],
  ['100', 'five', undefined],
  ['10', 'files', undefined],
] as const)('%s %s is the amount %s', ([before, word, expected]) =>
  assert.equal(amountOf(before, word), expected),
);

test.for([
  ['two-page', { amount: '2', others: ['page'] }],
  ['3-day', { amount: '3d', others: [] }],
  ['one-hour', { amount: '1h', others: [] }],
  ['10-year-old', { amount: '10y', others: ['old'] }],
  ['twenty-five', { amount: '25', others: [] }],
  ['5-rc', undefined],
  ['well-known', undefined],
] as const)('the compound %s is %j', ([text, expected]) =>
  assert.deepEqual(compoundOf(text), expected),
);

test.for([
  ['10,000', true, '10000'],
  ['10,000', false, '10,000'],
  ['2k', true, '2000'],
  ['$5,000', true, '5000usd'],
  ['50%', true, '50pct'],
  ['v1.2.3', true, 'v1.2.3'],
] as const)('the number %s, in English: %s, is %s', ([text, isEnglish, expected]) =>
  assert.equal(numberOf(text, isEnglish), expected),
);
