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
])('%j is an announcement of a request', opening =>
  assert.deepEqual(partsOf(`${opening}sort the list`), { head: 'sort the list', payload: '' }),
);

test.for([
  'So basically I just want you to ',
  'Right, so what I need is for you to ',
  'Take a quick look and ',
  'Now go ahead and ',
  'Sorry for the silly question, but ',
  'Okay then, ',
  'Please be so kind as to ',
  'Would you be so kind as to ',
  "I'd be really grateful if you could ",
  'I would be most grateful if you would ',
  "Alright, let's see, ",
  'Could you help me out and ',
  'Um, ',
  'You know, ',
  'Do one thing, please ',
])('%j is removed before a request', opening =>
  assert.equal(withoutFiller(`${opening}sort the list of names`, true), 'sort the list of names'),
);

test.for([
  'umm so like ',
  'Hmm, let me think... ',
  'Random question lol but ',
  'Me again! ',
  'Quick one: ',
  'Sorry to ask again, but ',
  "Here's one I've been meaning to ask: ",
  "If you don't mind, ",
])('%j is removed before "what is it called"', opening =>
  assert.equal(withoutFiller(`${opening}what is a monad`, true), 'what is a monad'),
);

test.for(['I really need to know ', "I'm curious ", 'I keep wondering ', 'So '])(
  '%j is removed before a question',
  opening => assert.equal(withoutFiller(`${opening}how cats purr`, true), 'how cats purr'),
);

test('"I wonder if you could" is removed before the verb of a request only', () => {
  assert.equal(withoutFiller('I wonder if you could draft a poem', true), 'draft a poem');
  for (const question of ['survive on the moon', 'draft beer', 'fix a car'])
    assert.equal(
      withoutFiller(`I wonder if you could ${question}`, true),
      `I wonder if you could ${question}`,
    );
});

test.for([
  'I want to ask you questions about it',
  'Like, share and comment on it',
  'Um zehn Uhr ist die Post da',
  'Do one thing at a time and rest',
  "Let's see the pictures of the trip",
  'Be so kind to all people and animals that they smile',
  'Help me out of the contract of my flat',
  'I am really grateful if you could do it',
  'Here is my code and its test',
  'So that it is short, cut the text',
  'Right align the text of the page',
  'One is enough for the whole test',
  'Sorry about the delay, but we fixed it',
  'Well is the source of the water',
])('%j has no such opening', text => {
  assert.equal(withoutFiller(text, true), text);
  assert.equal(partsOf(`${text}: a b`).payload, 'a b');
});
