import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createContextSizes } from '#models';

const rules: Readonly<Record<string, number>> = { small: 4096, large: 16_384 };
const open = () => createContextSizes({ ofRules: model => rules[model], ofChats: () => 8192 });

test('prompts use the context size of their rules until their model chats', () => {
  const sizes = open();
  assert.deepEqual([sizes.forPrompt('small'), sizes.forPrompt('other')], [4096, undefined]);
  assert.deepEqual([sizes.forChat('small'), sizes.forPrompt('small')], [8192, 8192]);
  assert.deepEqual([sizes.forChat('other:latest'), sizes.forPrompt('other')], [8192, 8192]);
  assert.equal(sizes.forPrompt('large'), 16_384);
});

test('a chat uses at least the context size of the rules', () => {
  assert.equal(open().forChat('large'), 16_384);
});

test('the latest 1,000 models that chat are known, and no more', () => {
  const sizes = open();
  sizes.forChat('small');
  sizes.forChat('other');
  for (let index = 0; index < 998; index++) sizes.forChat(`model-${index}`);
  sizes.forChat('other');
  sizes.forChat('one more');
  assert.deepEqual([sizes.forPrompt('small'), sizes.forPrompt('other')], [4096, 8192]);
});
