import assert from 'node:assert/strict';
import { test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';

const verdictOf = (a: string, b: string) => {
  const { verdict } = compareGuarded(a, b);
  assert.equal(compareGuarded(b, a).verdict, verdict, 'the order of the two prompts matters');
  return verdict;
};

test('two synonyms in one prompt are two different things', () => {
  assert.notEqual(
    verdictOf('Subtract the cost from the price', 'Subtract the price from the cost'),
    'alike',
  );
  assert.notEqual(
    verdictOf('Divide column cost by column price', 'Divide column price by column cost'),
    'alike',
  );
});

test('one synonym in each prompt is the same thing', () => {
  assert.equal(verdictOf('Show the price of milk', 'Show the cost of milk'), 'alike');
});

test('two synonyms in both prompts at the same positions are the same things', () => {
  assert.equal(
    verdictOf(
      'Explain how to subtract the cost from the price',
      'How do I subtract the cost from the price?',
    ),
    'alike',
  );
});
