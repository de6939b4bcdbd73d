import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { findFault } from '../../hub/enhance/check-output.ts';
import { normalizePrompt } from '../../hub/enhance/prompt-text.ts';

describe('a result', () => {
  test.each([
    "I'm sorry, but I can't assist with that request.",
    'I’m sorry, I cannot help with this.',
    'Sorry, but I am not able to do that.',
    'I apologize, but this is not something that I can do.',
    'I cannot assist with that.',
    'I can’t help with hacking.',
    "I won't provide that.",
    "I'm unable to rewrite this prompt.",
    'As an AI language model, I do not have opinions.',
    'As a large language model I cannot know that.',
    "**I'm an AI** and cannot do that.",
  ])('that begins as %j is a refusal', text => {
    assert.equal(findFault(text, 'write a poem', 8)?.kind, 'refusal');
  });

  test.each([
    'I cannot get the build to run: explain why.',
    "I can't connect to the server. List the likely causes.",
    'Write a letter that begins with "I am sorry, but".',
    'Explain what an AI language model is.',
    'Help me write an apology.',
    'I am an engineer. Review this design.',
    'Sort the list.',
  ])('that begins as %j is none', text => {
    assert.equal(findFault(text, 'write a poem', 8), undefined);
  });

  test('may be a page for a prompt of a word, and so many times longer for a long one', () => {
    assert.equal(findFault('a'.repeat(4000), 'p', 2), undefined);
    assert.equal(findFault('a'.repeat(4001), 'p', 2)?.kind, 'overgrown');
    const prompt = 'p'.repeat(3000);
    assert.equal(findFault('a'.repeat(6000), prompt, 2), undefined);
    assert.equal(findFault('a'.repeat(6001), prompt, 2)?.kind, 'overgrown');
  });
});

describe('what counts as one prompt', () => {
  test.each([
    ['a\r\nb\rc', 'a\nb\nc'],
    ['a\n\n \t\n', 'a'],
    ['a  \n', 'a  '],
    ['\n a', '\n a'],
    ['A b', 'A b'],
    ['cafe\u0301', 'caf\u00e9'],
    ['', ''],
    [' \n', ' '],
  ])('%j is %j', (given, normal) => {
    assert.equal(normalizePrompt(given), normal);
    assert.equal(normalizePrompt(normal), normal);
  });

  test('is found out in no time for a text of nothing but ends of lines', () => {
    const since = performance.now();
    assert.equal(normalizePrompt(`${'\n '.repeat(500_000)}x\n`).length, 1_000_001);
    assert.ok(performance.now() - since < 1_000);
  });
});
