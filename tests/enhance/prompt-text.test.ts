import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defaultRules } from '#config';
import { normalizePrompt, whyTooLong } from '../../hub/enhance/prompt-text.ts';

test.for([
  ['a\r\nb\rc\n', 'a\nb\nc'],
  ['a \n \n\t\n', 'a '],
  ['  a', '  a'],
  ['a  ', 'a  '],
  ['a\n\nb', 'a\n\nb'],
  ['e\u0301', '\u00e9'],
  ['\n', ''],
  ['', ''],
] as const)('%j is normalized to %j', ([prompt, expected]) => {
  assert.equal(normalizePrompt(prompt), expected);
  assert.equal(normalizePrompt(expected), expected);
});

const ruleOf = (systemPrompt: string, num_ctx: number) => ({
  ...defaultRules.default,
  systemPrompt,
  options: { ...defaultRules.default.options, num_ctx },
});

test.for([
  ['abc', 'abc', 2, undefined],
  ['abcd', 'abc', 2, 'up to 3 tokens, and the window of the model 2'],
  ['äöü', '', 2, undefined],
  ['äöüä', '', 2, 'up to 3 tokens'],
] as const)('%j after %j in a window of %i is too long: %j', ([prompt, system, window, why]) => {
  const reason = whyTooLong(prompt, ruleOf(system, window));
  if (why === undefined) assert.equal(reason, undefined);
  else assert.ok(reason?.includes(why), reason);
});
