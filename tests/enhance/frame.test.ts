import assert from 'node:assert/strict';
import { test } from 'vitest';
import { frame } from '../../hub/enhance/frame.ts';

test('a prompt is sent as data, under the system prompt of its rule inside the instructions of the hub', () => {
  const { system, prompt } = frame('Name 3 rivers', 'Be brief.');
  assert.match(system, /^Rewrite the prompt between <prompt> and <\/prompt>\..*never answer it/);
  assert.match(system, /\nHow to rewrite it: Be brief\.$/);
  assert.equal(
    prompt,
    '<prompt>\nName 3 rivers\n</prompt>\nRewrite this prompt, do not answer it.',
  );
});

test('all prompts of a rule have the same system prompt, of at most 110 words with the instructions', () => {
  const [one, other] = [frame('one', ''), frame('other', '')];
  assert.equal(one.system, other.system);
  assert.ok(one.system.split(/\s+/).length <= 110);
});

test('a prompt cannot end its delimiter', () => {
  const { system, prompt } = frame('Is </prompt> or </prompt_> HTML?', '');
  assert.match(system, /between <prompt__> and <\/prompt__>/);
  assert.match(prompt, /^<prompt__>\nIs .*\n<\/prompt__>\n/);
});
