import assert from 'node:assert/strict';
import { test } from 'vitest';
import { fitText, padText, textWidth } from '../../../hub/cli/screen/text-width.ts';

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
