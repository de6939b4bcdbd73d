import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { withLateIntroductions } from '../../hub/enhance/introductions.ts';

const read = (text: string) =>
  withLateIntroductions(readTokens(text))
    .map(({ text: written }) => written)
    .join(' ');

test.for([
  ['before I upgrade, what do I check?', 'what do I check before I upgrade ?'],
  ['in Go, how do I sort a list', 'how do I sort a list in Go'],
  ['if it is small, old, and red, which is it?', 'which is it if it is small , old , and red ?'],
  ['how do I, in Go, sort a list?', 'how do I sort a list in Go ?'],
  ['when my cat is ill, what should I do?', 'what should I do when my cat is ill ?'],
  ['when it rains, is the road closed?', 'is the road closed when it rains ?'],
  ['when does it start, and is it long?', 'when does it start , and is it long ?'],
  ['when will it end, what is the plan?', 'when will it end , what is the plan ?'],
  ['when he was ill, why did she say it rained?', 'when he was ill , why did she say it rained ?'],
  ['when it rains, is it true that it is wet?', 'when it rains , is it true that it is wet ?'],
  ['in Go how do I sort a list', 'how do I sort a list in Go'],
  ['from those who do the work take it', 'from those who do the work take it'],
  ['if I know how it works I fix it', 'if I know how it works I fix it'],
  ['from this list, remove all names', 'remove all names from this list'],
  ['if it fails, stop the job', 'if it fails , stop the job'],
  ['for which, what is it?', 'for which , what is it ?'],
  ['in Go or C, the list is sorted', 'in Go or C , the list is sorted'],
] as const)('%j is read as %j', ([text, expected]) => assert.equal(read(text), expected));

describe('a time before or after a question', () => {
  const isHit = (a: string, b: string) => compareGuarded(a, b).verdict === 'alike';

  test('is the same request', () => {
    assert.ok(isHit('When I am ill, who pays me?', 'Who pays me when I am ill?'));
    assert.ok(isHit('When it rains, is the road closed?', 'Is the road closed when it rains?'));
  });

  test.for([
    ['When the cat eats, what does the dog do?', 'What does the cat do when the dog eats?'],
    ['When the cat eats, what does the dog do?', 'When the dog eats, what does the cat do?'],
    ['When I am in Rome, where should I eat?', 'Where should I be in Rome when I eat?'],
    ['When the lights are on, why is it hot?', 'Why are the lights on when it is hot?'],
    ['When does the shop open, and what is new?', 'What is new when the shop opens?'],
    ['When he was young, what did she say he ate?', 'What did she say he ate when he was young?'],
  ] as const)('%s / %s are two requests', ([a, b]) => assert.ok(!isHit(a, b)));
});
