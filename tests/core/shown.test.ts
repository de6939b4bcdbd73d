import assert from 'node:assert/strict';
import { test } from 'vitest';
import { firstProblems, shortened, shown, typeInWords } from '#core';

test.each([
  ['text', '"text"'],
  [3, '3'],
  [{ a: [true, null] }, '{"a":[true,null]}'],
  [undefined, 'undefined'],
  ['x'.repeat(58), `"${'x'.repeat(58)}"`],
  ['x'.repeat(1_000), `"${'x'.repeat(59)}...`],
  [`${'x'.repeat(58)}\u{1f600}`, `"${'x'.repeat(58)}\ufffd...`],
  [Array.from({ length: 100 }, () => 1), `[${'1,'.repeat(29)}1...`],
])('%j is shown as %s', (value, text) => {
  assert.equal(shown(value), text);
});

test.each([
  ['name', 'name'],
  ['x'.repeat(60), 'x'.repeat(60)],
  ['x'.repeat(1_000), `${'x'.repeat(60)}...`],
  [`${'x'.repeat(59)}\u{1f600}`, `${'x'.repeat(59)}\ufffd...`],
])('the name %j is shortened to %s', (name, text) => {
  assert.equal(shortened(name), text);
});

test('problems beyond the first 20 are counted', () => {
  const problems = Array.from({ length: 25 }, (_, at) => `problem ${at}`);
  assert.deepEqual(firstProblems(problems.slice(0, 20)), problems.slice(0, 20));
  assert.deepEqual(firstProblems(problems), [...problems.slice(0, 20), 'and 5 more problems']);
  assert.equal(firstProblems(problems.slice(0, 21)).at(-1), 'and 1 more problem');
});

test.each([
  ['string', 'a string'],
  ['boolean', 'true or false'],
  ['int', 'a whole number'],
  ['array', 'a list'],
  ['object', 'an object'],
  ['null', 'a value of type null'],
])('the type %s is %s in words', (type, words) => {
  assert.equal(typeInWords(type), words);
});
