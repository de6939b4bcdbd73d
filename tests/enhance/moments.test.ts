import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { readDate, readMoment } from '../../hub/enhance/moments.ts';

const read = (text: string) => {
  const tokens = readTokens(text);
  const moment = readDate(tokens, 0) ?? readMoment(tokens, 0);
  return moment && `${moment.token.text} of ${moment.length}`;
};

describe('a time of the day or a date is normalized:', () => {
  test.for([
    ['6 pm', '18:00 of 1'],
    ['12 am', '0:00 of 1'],
    ['12 pm', '12:00 of 1'],
    ['noon', '12:00 of 1'],
    ['midnight', '0:00 of 1'],
    ['02:30', '2:30 of 1'],
    ['2:30 am', '2:30 of 1'],
    ['half past nine', '9:30 of 3'],
    ['a quarter to 5 pm', '16:45 of 4'],
    ["9 o'clock", '9:00 of 2'],
    ['April 1', '1 April of 2'],
    ['1 May', '1 May of 2'],
    ['the first of May', '1 May of 4'],
    ['April the 11th', '11 April of 3'],
    ['3rd of March', '3 March of 3'],
  ] as const)('%s', ([text, moment]) => assert.equal(read(text), moment));
});

describe('a text is not read as a time or date:', () => {
  test.for([
    '9',
    '45 May',
    'the first',
    'May we',
    'half of it',
    'a quarter of it',
    '99:99 x',
    '25 pm',
  ] as const)('%s', text => assert.equal(read(text), undefined));
});

describe('times and dates that differ', () => {
  test.for([
    ['Remind me at 5 pm', 'Remind me at 5 am'],
    ['Remind me at noon', 'Remind me at midnight'],
    ['Wake me at half past nine', 'Wake me at nine'],
    ['Set it to a quarter to nine', 'Set it to a quarter past nine'],
    ['Send it on the 1st of May', 'Send it on the 1st of June'],
    ['Plan a call from 9 am to 5 pm', 'Plan a call from 5 am to 9 pm'],
  ] as const)('%s / %s', ([a, b]) => assert.notEqual(compareGuarded(a, b).verdict, 'alike'));
});
