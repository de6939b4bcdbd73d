import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { withPlainAmounts } from '../../hub/enhance/amounts.ts';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { compareGuarded } from '../../hub/enhance/guards.ts';

const read = (text: string) =>
  withPlainAmounts(readTokens(text))
    .map(token => token.text)
    .join(' ');

describe('an amount is normalized:', () => {
  test.for([
    ['half an hour', '30min'],
    ['the eighteenth century', 'the 18th century'],
    ['an hour and a half', '90min'],
    ['2 hours and a half', '150min'],
    ['one and a half days', '36h'],
    ['90 seconds', '90s'],
    ['60 seconds', '1min'],
    ['1440 minutes', '1d'],
    ['1.5 GB', '1500MB'],
    ['1500 MB', '1500MB'],
    ['half its size', '50pct its size'],
    ['half of the rows', '50pct the rows'],
    ['50% of the rows', '50pct the rows'],
    ['a quarter of the rows', '25pct the rows'],
    ['three quarters of the rows', '75pct the rows'],
    ['2.5 million euros', '2500000eur'],
    ['once every week', 'every week'],
    ['every 24 hours', 'every day'],
    ['every other week', 'every 2wk'],
    ['fortnightly', 'every 2wk'],
    ['on a weekly basis', 'weekly'],
    ['twice a week', '2 times every week'],
    ['6 hours per week', '6h every week'],
  ] as const)('%s is %s', ([text, plain]) => assert.equal(read(text), plain));
});

describe('a text without an amount is unchanged:', () => {
  test.for([
    'the second half',
    'a week before',
    'a quarter later',
    'half a million years',
    'every second',
    '30 days',
    'a text on a page',
    'version 1.5',
  ] as const)('%s', text =>
    assert.equal(
      read(text),
      readTokens(text)
        .map(token => token.text)
        .join(' '),
    ),
  );
});

describe('different amounts stay different', () => {
  test.for([
    ['Wait half an hour', 'Wait an hour and a half'],
    ['Run it every other day', 'Run it every day'],
    ['Run it every second day', 'Run it every second'],
    ['Run it twice a day', 'Run it twice a week'],
    ['Compress it to 1.5 GB', 'Compress it to 15 GB'],
    ['Cut the file to half its size', 'Cut the file by half a megabyte'],
    ['Keep it for 24 hours', 'Keep it for 24 days'],
  ] as const)('%s / %s', ([a, b]) => assert.notEqual(compareGuarded(a, b).verdict, 'alike'));
});
