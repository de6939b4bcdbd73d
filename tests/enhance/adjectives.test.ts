import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { withSortedAdjectives } from '../../hub/enhance/adjectives.ts';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { compareGuarded } from '../../hub/enhance/guards.ts';

const read = (text: string) =>
  withSortedAdjectives(readTokens(text))
    .map(({ text: written }) => written)
    .join(' ');

describe('two adjectives are sorted', () => {
  test.for([
    ['write a funny, short card', 'write a short and funny card'],
    ['write a funny and brief card', 'write a brief and funny card'],
    ['write a short and formal resignation letter', 'write a formal and short resignation letter'],
  ] as const)('%j is read as %j', ([text, expected]) => assert.equal(read(text), expected));
});

describe('other words are not sorted', () => {
  test.for([
    'a short and a funny card',
    'use short , funny and honest titles',
    'short and long titles',
    'the short and funny one respectively',
    'make it short and polite',
    'write a very short and formal email',
    'a formal and original method',
    'who wrote Funny and Short stories',
    'red and blue shirts',
  ])('%s', text => assert.equal(read(text), text));
});

const isHit = (a: string, b: string) => ['same', 'alike'].includes(compareGuarded(a, b).verdict);

test('adjectives in another order are the same request', () => {
  assert.ok(isHit('Write a short, formal letter to him', 'Write a formal and brief letter to him'));
});

test.for([
  ['Write a short and formal letter', 'Write a short and informal letter'],
  ['Write a short and formal letter', 'Write a formal letter'],
  ['Write a short and a formal letter', 'Write a short and formal letter'],
  ['Write a short card and a funny poem', 'Write a funny card and a short poem'],
  ['Write a less formal and concise email', 'Write a less concise and formal email'],
  ['Name a fast and cheap host', 'Name a cheap and fast host'],
  ['Sort by cheap and fast respectively', 'Sort by fast and cheap respectively'],
] as const)('%s / %s are two requests', ([a, b]) => assert.ok(!isHit(a, b)));
