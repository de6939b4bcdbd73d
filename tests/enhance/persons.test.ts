import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { otherPerson } from '../../hub/enhance/persons.ts';

const otherIn = (a: string, b: string) => otherPerson(canonicalOf(a), canonicalOf(b));

describe('prompts with other persons are not alike', () => {
  test.for([
    ['decide', 'Be a guide. I decide where to go', 'Be a guide. You decide where to go'],
    ['note', 'Summarize my notes', 'Summarize their notes'],
    ['essay', 'Rewrite my essay in your style', 'Rewrite your essay in my style'],
    ['to remind', 'Remind me to call Anna', 'Remind them to call Anna'],
    ['to ask', 'I want you to ask me questions', 'I want to ask you questions'],
    ['to tell', 'I was told to stop. Write back.', 'I told them to stop. Write back.'],
    ['drink', 'How much water should I drink?', 'How much water should he drink?'],
    ['change', 'Show the code you changed', 'Show the code I changed'],
  ] as const)('%s', ([word, a, b]) => {
    assert.equal(otherIn(a, b), word);
    assert.ok(!['same', 'alike'].includes(compareGuarded(a, b).verdict));
  });
});

test('"you" in how-to questions means "I", and so does "we"', () => {
  assert.equal(otherIn('How do I sort a list?', 'How do you sort a list?'), undefined);
  assert.equal(otherIn('I need a logo', 'We need a logo'), undefined);
});
