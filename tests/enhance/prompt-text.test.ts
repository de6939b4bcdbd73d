import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defaultRules } from '#config';
import { frame } from '../../hub/enhance/frame.ts';
import { normalizePrompt, whyTooLong } from '../../hub/enhance/prompt-text.ts';

test.for([
  ['a\r\nb\rc\n', 'a\nb\nc'],
  ['a \n \n\t\n', 'a '],
  ['  a', '  a'],
  ['a  ', 'a  '],
  ['a\n\nb', 'a\n\nb'],
  ['e\u0301', '\u00e9'],
  ['a\ud83d', 'a\ufffd'],
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

/** Bytes of the text that is sent in addition to the prompt and the system prompt. */
const { system: instructions, prompt: delimiters } = frame('', '');
const padding = (3 - ((instructions.length + delimiters.length) % 3)) % 3;
const framed = (instructions.length + delimiters.length + padding) / 3;

test.for([
  ['abc', 'abc', 2, undefined],
  ['abcd', 'abc', 2, 3],
  ['äöü', '', 2, undefined],
  ['äöüä', '', 2, 3],
] as const)(
  '%j with the system prompt %j in a context of %i tokens besides the frame exceeds it with %j tokens',
  ([prompt, system, window, tokens]) => {
    const padded = system + ' '.repeat(padding);
    const reason = whyTooLong(prompt, ruleOf(padded, framed + window));
    if (tokens === undefined) assert.equal(reason, undefined);
    else
      assert.match(
        reason ?? '',
        new RegExp(
          `up to ${framed + tokens} tokens, and the window of the model ${framed + window}`,
        ),
      );
  },
);
