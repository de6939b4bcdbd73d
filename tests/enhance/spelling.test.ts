import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isAsWritten, otherSpelling } from '../../hub/enhance/spelling.ts';

test.for([
  ['Is “Monday” capitalized correctly?', 'Is “monday” capitalized correctly?', /another spelling/],
  ['Use its in a sentence', "Use it's in a sentence", /another spelling: “its” and “it's”/],
  ['Check the punctuation: She left.', 'Check the punctuation: She, left.', /other punctuation/],
  ['How many minutes are 2 hours?', 'How many minutes are 120 minutes?', /other digits/],
  ['Type the character –', 'Type the character —', /other characters/],
  ['Write 5 ft as 5 feet', 'Write 5 feet as 5 ft', /about notations/],
] as const)('%s and %s differ', ([a, b, why]) => assert.match(otherSpelling(a, b) ?? '', why));

test.for([
  ['How do you spell accommodate?', 'How do I spell accommodate?'],
  ['Visit Monday', 'Visit monday'],
  ['How many minutes are 2 hours?', 'How many minutes are in 2 hours?'],
] as const)('%s and %s do not differ in spelling', ([a, b]) =>
  assert.equal(otherSpelling(a, b), undefined),
);

test('a prompt about notations or characters is the same only as an equal one', () => {
  const asks = (text: string) => isAsWritten(text, text);
  assert.ok(asks('Write 90 minutes as 1.5 hours'));
  assert.ok(asks('Type the character –'));
  assert.ok(!asks('Wait 90 minutes – then 2 hours'));
  assert.ok(!asks('Type it'));
});
