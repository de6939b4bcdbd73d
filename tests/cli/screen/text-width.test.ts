import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fitText, padText, textWidth, wrapText } from '../../../hub/cli/screen/text-width.ts';

test.for([
  ['abc', 3],
  ['日本語', 6],
  ['한국어', 6],
  ['👩‍👩‍👧‍👦', 2],
  ['✔️', 2],
  ['é', 1],
  ['e\u0301', 1],
  ['a\u200bb', 2],
  ['●✖○◌', 4],
] as const)('%s is %i columns wide', ([text, width]) => {
  assert.equal(textWidth(text), width);
});

test.for([
  ['abcdef', 6, 'abcdef'],
  ['abcdef', 5, 'abcd…'],
  ['日本語', 5, '日本…'],
  ['日本語', 4, '日…'],
  ['ab cd', 4, 'ab…'],
  ['abc', 0, ''],
] as const)('%s in %i columns is %s', ([text, columns, expected]) => {
  assert.equal(fitText(text, columns), expected);
  assert.equal(textWidth(padText(text, columns)), columns);
});

test.for([
  ['one two three', 7, ['one two', 'three']],
  ['one two three', 13, ['one two three']],
  ['a longword b', 4, ['a', 'longword', 'b']],
  ['one\ntwo', 80, ['one', 'two']],
  ['see "one two" now', 9, ['see', '"one two"', 'now']],
  ['see "one two', 9, ['see "one', 'two']],
  ['  at one', 80, ['  at one']],
  ['日本 日本', 6, ['日本', '日本']],
  ['', 5, ['']],
] as const)('%j in %i columns has the lines %j', ([text, columns, lines]) => {
  assert.deepEqual(wrapText(text, columns), lines);
});
