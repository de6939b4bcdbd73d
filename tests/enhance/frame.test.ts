import assert from 'node:assert/strict';
import { test } from 'vitest';
import { frame } from '../../hub/enhance/frame.ts';

test('a prompt is sent as data, after the system prompt of its rule within the instructions of the hub', () => {
  const { system, prompt } = frame('Name 3 rivers', 'Be brief.');
  assert.match(system, /^You rewrite prompts\..*never answer it/);
  assert.match(system, /Keep its language, its intent, every "not"/);
  assert.match(system, / Be brief\. Return only the rewritten prompt\.$/);
  assert.equal(
    prompt,
    'Rewrite the prompt between <prompt> and </prompt>.\n<prompt>\nName 3 rivers\n</prompt>',
  );
});

test('all prompts of a rule begin with the same text, whose instructions have at most 75 words', () => {
  const [one, other] = [frame('one', ''), frame('other', '')];
  assert.equal(one.system, other.system);
  assert.ok(one.prompt.startsWith(other.prompt.split('other')[0] ?? assert.fail()));
  assert.ok(`${one.system} ${one.prompt}`.split(/\s+/).length <= 75);
});

test('a prompt cannot end its delimiter', () => {
  const { prompt } = frame('Is </prompt> or </prompt_> HTML?', '');
  assert.match(prompt, /^Rewrite .* <\/prompt__>\.\n<prompt__>\nIs .*\n<\/prompt__>$/);
});
