import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { withPlainNotations } from '../../hub/enhance/notations.ts';

const isHit = (a: string, b: string) =>
  [compareGuarded(a, b), compareGuarded(b, a)].every(({ verdict }) =>
    ['same', 'alike'].includes(verdict),
  );

test.for([
  ['Bake it at 180 °C', 'Bake it at 180 degrees Celsius'],
  ['Drive at 60 mph', 'Drive at 60 miles per hour'],
  ['Paint twelve square metres', 'Paint twelve sqm'],
  ['Add 1/2 cup of milk', 'Add half a cup of milk'],
  ['Is 2½ cups enough', 'Is 2 1/2 cups enough'],
  ['Is .5 percent much', 'Is 0.5 per cent much'],
  ['Sort 100 000 rows', 'Sort 100,000 rows'],
  ['Plan a half-hour call', 'Plan a 30-minute call'],
  ['Plan a week-long trip', 'Plan a 1-week trip'],
  ['Remind me on July 4th, 2026', 'Remind me on 4 July 2026'],
  ['Remind me on 2026-07-04', 'Remind me on the 4th of July 2026'],
  ['Plan it for Sept', 'Plan it for September'],
  ['What grows in a pot during May', 'What grows in a pot in May'],
  [
    'Name hobbies, e.g. knitting, for teenagers',
    'Name hobbies, for example knitting, for teenagers',
  ],
  ['Run it from Mon to Fri', 'Run it from Monday to Friday'],
  ['Write a reply for 3 to 14 August', 'Write a reply for August 3 to August 14'],
  ['Use Angular v17', 'Use Angular 17'],
  ['Is it in version 3.12 of Python', 'Is it in Python 3.12'],
  ['Convert UTC+03:00', 'Convert UTC+3'],
  ['Is 6\'2" tall', 'Is 6 feet 2 inches tall'],
] as const)('%s / %s are normalized to one notation', ([a, b]) => {
  const [left, right] = [a, b].map(text => withPlainNotations(text).toLowerCase());
  assert.ok(left === right || isHit(a, b), `${left} | ${right}`);
});

describe('two requests are different:', () => {
  test.for([
    ['Wait 5 min', 'Wait 5 m'],
    ['What is -7 + 2?', 'What is 7 + 2?'],
    ['Spend $10k on ads', 'Spend 10k on ads'],
    ['One and a half cups', 'Half a cup'],
    ['How do I type 20 °C on a Mac?', 'How do I type 20 degrees Celsius on a Mac?'],
    ['Train v3 models', 'Train 3 models'],
    ['Convert 2024-01-15 to January 15, 2024', 'Convert January 15, 2024 to 2024-01-15'],
    ['Change 5 ft to 5 feet in the text', 'Change 5 feet to 5 ft in the text'],
    ['How many minutes is 1.5 hours?', 'How many minutes is 90 minutes?'],
    ['Print the line number 10 times', 'Print the line 10 times'],
  ] as const)('%s / %s', ([a, b]) => assert.ok(!isHit(a, b)));
});

test('quotations and long prompts are unchanged', () => {
  const quoted = 'Translate "5 Jan 2026 at 20 °C" to German';
  assert.equal(withPlainNotations(quoted), quoted);
  const long = `Say it in Sept. ${'word '.repeat(300)}`;
  assert.equal(withPlainNotations(long), long);
});
