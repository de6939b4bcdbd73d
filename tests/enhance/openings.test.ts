import assert from 'node:assert/strict';
import { test } from 'vitest';
import { partsOf, withoutFiller } from '../../hub/enhance/canonical-text.ts';

test.for([
  'So I have a question: ',
  "Let's do the following: ",
  'Alright then, do this: ',
  "Here's what I need: ",
  'What I really need is this: ',
  'Just wondering: ',
  'Here is a question for you: ',
])('%j announces a request', opening =>
  assert.deepEqual(partsOf(`${opening}sort the list`), { head: 'sort the list', payload: '' }),
);

test.for([
  'So basically I just want you to ',
  'Right, so what I need is for you to ',
  'Take a quick look and ',
  'Now go ahead and ',
  'Sorry for the silly question, but ',
  'Okay then, ',
])('%j is removed before a request', opening =>
  assert.equal(withoutFiller(`${opening}sort the list of names`, true), 'sort the list of names'),
);

test.for(['I really need to know ', "I'm curious ", 'I keep wondering ', 'So '])(
  '%j is removed before a question',
  opening => assert.equal(withoutFiller(`${opening}how cats purr`, true), 'how cats purr'),
);

test.for([
  'I want to ask you questions about it',
  'Here is my code and its test',
  'So that it is short, cut the text',
  'Right align the text of the page',
])('%j has no such opening', text => {
  assert.equal(withoutFiller(text, true), text);
  assert.equal(partsOf(`${text}: a b`).payload, 'a b');
});
