import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';

const sequenceOf = (text: string) => canonicalOf(text).sequence.join(' ').replaceAll('word ', '');

describe('the sequence', () => {
  test.for([
    ['Explain it. List files', 'explain it . list files'],
    ['List is empty', 'List is empty'],
    ['Invent a tale. Recite the end', 'invent a tale . recite the end'],
    [
      'Swift is fast. Merge sort. Ask Bill the cook',
      'Swift is fast . merge sort . ask Bill the cook',
    ],
    ['Express with a router', 'Express with a router'],
    ['IT is slow; A is b', 'IT is slow A is b'],
    ["Don't. It's so, I'm sure", 'do not . it is so I am sure'],
    ["I can't, so wait", 'I can not , so wait'],
    ["wouldn't've", 'would not have'],
    ["I'd like that but I'd gone", "I would like that but I'd gone"],
    ['must i use i', 'must I use i'],
    ['You can use it?', 'you can use it ?'],
    ['how do I use it?!', 'how do I use it'],
    ['It works. Is it fast? And small', 'it works . is it fast . and small'],
    ['No, use tabs', 'no , use tabs'],
    ['yes, use tabs', 'yes use tabs'],
    ['fix it - now', 'fix it now'],
    ['x - y', 'x sign - y'],
    ['...', ''],
    ['Explain this: A  b', 'explain this payload A b'],
  ] as const)('of %j is %j', ([text, expected]) => assert.equal(sequenceOf(text), expected));
});

test('a request keeps its punctuation, and the text after it is not part of it', () => {
  const { head, tokens, payload, payloadText, language } = canonicalOf(
    'If it fails, explain why: ok, then',
  );
  const textOf = (list: typeof tokens) => list.map(({ text }) => text).join(' ');
  assert.equal(textOf(tokens), 'if it fails , explain why');
  assert.equal(textOf(head), 'if it fails explain why');
  assert.equal(textOf(payload), 'ok then');
  assert.deepEqual([payloadText, language], ['ok, then', 'en']);
});

test('commas separate thousands in a request without a known language, and not in a German one', () => {
  assert.equal(sequenceOf('10,000'), 'number 10000');
  assert.equal(sequenceOf('Setze den Wert auf 10,000'), 'Setze den Wert auf number 10,000');
});
