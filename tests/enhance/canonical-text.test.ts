import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isSameText, partsOf, withoutFiller } from '../../hub/enhance/canonical-text.ts';

test.for([
  ['nothing else', 'Explain monads', 'Explain monads', ''],
  ['a colon', 'Explain:  a\n b', 'Explain', 'a b'],
  ['a line end', 'Explain\r\nthe  error', 'Explain', 'the error'],
  ['a fence', 'Fix ```js\na  b\n```', 'Fix', '```js\na  b\n```'],
  ['indented code', 'Fix this:\n    if x', 'Fix this', ':\n    if x'],
  ['lines that end like code', 'Fix:\na;\nb  c', 'Fix', ':\na;\nb  c'],
  ['a colon inside a word', 'look at a:b', 'look at a:b', ''],
  ['a colon with nothing after it', 'Fix this: \n ', 'Fix this:', ''],
  ['a question that is announced', 'Quick question: explain: a', 'explain', 'a'],
  ['no request before it', ':  a', '', 'a'],
] as const)('a prompt with %s is split at the end of the request', ([, text, head, payload]) =>
  assert.deepEqual(partsOf(text), { head, payload }),
);

test('the request is converted to plain typography', () => {
  const written = 'cafe\u0301 “a” ‘b’ «\u00a0c\u00a0» d—e…\u00a0→ f‐g\u200b\u00ad';
  assert.equal(partsOf(written).head, 'café "a" \'b\' "c" d - e... -> f-g');
});

test('the text that a request is about keeps its typography', () => {
  assert.equal(partsOf('Explain: “a” → b…').payload, '“a” → b…');
});

describe('politeness is removed', () => {
  test.for([
    ['Hi there, fix it now', 'fix it now'],
    ['hey can you fix it', 'fix it'],
    ['ok, so, well, actually, alright, fix it', 'fix it'],
    ['Please, can you rename it', 'rename it'],
    ['can you explain the column', 'explain the column'],
    ['help me fix the test', 'fix the test'],
    ['I need your help to write tests', 'write tests'],
    ['I was wondering if you could please fix it', 'fix it'],
    ['fix the test, thanks a lot!', 'fix the test'],
    ["fix the test, if you don't mind", 'fix the test'],
    ['fix the test, I guess', 'fix the test'],
    ["fix the test. I'd really appreciate it.", 'fix the test'],
    ['fix the test please', 'fix the test'],
    ['fix it, please. Thanks! Cheers', 'fix it'],
    ['please fix the test for me', 'fix the test'],
    ['translate hello. Thanks', 'translate hello'],
    ['Prüfe bitte den Code der Klasse', 'Prüfe den Code der Klasse'],
  ] as const)('from %j', ([text, expected]) => assert.equal(withoutFiller(text, true), expected));
});

describe('politeness is kept', () => {
  test.for([
    ['a greeting of the world', 'hello, world in Go'],
    ['a question whether something can be done', 'can you rename the column'],
    ['a help that names no request', 'help me please', 'help me'],
    ['a wish that no polite word precedes', 'fix the test for me'],
    ['words that the prompt may be about', 'How do you say thanks, please'],
    ['a guess that the prompt may be about', 'How do you say maybe, I guess'],
    ['a guess without a comma', 'how many cards should I guess'],
    ['a word after which it is a noun', 'what is the please'],
    ['a German word that the prompt is about', 'Was heißt das word bitte auf Englisch'],
    ['a prompt of which one word would be left', 'please help'],
    ['more of it than six rounds remove', 'ok, so, well, ok, so, well, ok, go on', 'ok, go on'],
  ] as const)('in %s', ([, text, expected = text]) =>
    assert.equal(withoutFiller(text, true), expected),
  );

  test('at the end of a request that a text follows', () => {
    assert.equal(withoutFiller('please fix the test, thanks', false), 'fix the test, thanks');
  });
});

test('punctuation after a quoted text belongs to the sentence around it', () => {
  assert.ok(isSameText("'Mind the step'.", "'Mind the step'?"));
  assert.ok(isSameText('"Mind the step"?', '"Mind the step"'));
  assert.ok(!isSameText('"Mind the step?"', '"Mind the step."'));
  assert.ok(!isSameText('Mind the step.', 'Mind the step?'));
  assert.ok(!isSameText("'Mind' the 'step'?", "'Mind' the 'step'."));
});
