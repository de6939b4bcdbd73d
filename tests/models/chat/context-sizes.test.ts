import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createContextSizes } from '#models';

const rules: Readonly<Record<string, number>> = { small: 4096, large: 16_384 };
const open = () => createContextSizes({ ofRules: model => rules[model], ofChats: () => 8192 });

test('a prompt has the size of its rules until its model chats', () => {
  const sizes = open();
  assert.deepEqual([sizes.forPrompt('small'), sizes.forPrompt('other')], [4096, undefined]);
  assert.deepEqual([sizes.forChat('small'), sizes.forPrompt('small')], [8192, 8192]);
  assert.deepEqual([sizes.forChat('other:latest'), sizes.forPrompt('other')], [8192, 8192]);
  assert.equal(sizes.forPrompt('large'), 16_384);
});

test('a chat has no less than the rules give', () => {
  assert.equal(open().forChat('large'), 16_384);
});

test('of models that chat, those that chatted last are known, and no more than 1,000', () => {
  const sizes = open();
  sizes.forChat('small');
  sizes.forChat('other');
  for (let index = 0; index < 998; index++) sizes.forChat(`model-${index}`);
  sizes.forChat('other');
  sizes.forChat('one more');
  assert.deepEqual([sizes.forPrompt('small'), sizes.forPrompt('other')], [4096, 8192]);
});
