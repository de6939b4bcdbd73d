import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isChatter } from '../../../hub/enhance/checks/chatter.ts';

const system = 'Keep all names and numbers and links exactly as they are.';

test.each([
  'Sure, plan it.',
  'Plan a trip:\n<prompt>\nplan a trip',
  'I have rewritten it: plan it.',
  'This version is clearer. Plan it.',
  'Plan it. Let me know which one you like.',
  'What is your budget?',
  'Plan it. Keep all names and numbers and links exactly.',
  'Rewrite the prompt: plan it.',
  'Plan it. I hope this helps!',
])('%j contains chatter', text => {
  assert.equal(isChatter(text, 'plan a trip', system), true);
});

test.each([
  ['Plan a trip.', 'plan a trip'],
  ['Could you explain it?', 'explain it'],
  ['What is your opinion?', 'what is your opinion'],
  ['Improve this prompt: "a cat".', 'improve this prompt: "a cat"'],
  ['Keep all names and numbers.', 'keep names'],
])('%j contains no chatter for %j', (text, prompt) => {
  assert.equal(isChatter(text, prompt, system), false);
});
