import assert from 'node:assert/strict';
import { test } from 'vitest';
import {
  beginsAsAnswer,
  formOf,
  isWrittenCode,
  whyAnswer,
} from '../../../hub/enhance/checks/request-form.ts';

test.each([
  ['whats the time', 'inquiry'],
  ['explain recursion', 'inquiry'],
  ['wie spät ist es', 'inquiry'],
  ['please write a poem', 'order'],
  ['in app.ts, rename the button', 'order'],
  ['can you build me an app', 'order'],
  ['I need a logo', 'order'],
  ['do not use tabs', 'order'],
  ['login page broken', 'statement'],
])('the form of %j is: %s', (prompt, form) => {
  assert.equal(formOf(prompt), form);
});

test.each([
  ['how do i sort a list', 'Explain how to sort a list.'],
  ['what is a mutex', 'Write a short explanation of a mutex.'],
  ['write a poem about cats', 'You are a poet. Write a poem about cats.'],
  ['write a poem about cats', '## Goal\nA poem about cats.'],
  ['tell me a joke about cats', 'What is a funny joke about cats?'],
  ['login page broken', 'The login page is broken. Find the cause.'],
  ['make it', 'Anything.'],
  ['capital of australia', 'What is the capital of Australia?'],
  ['best way to remove rust', 'Best way to remove rust from metal, as a list of steps'],
  ['my laptop is slow since monday', 'My laptop is slow since Monday, when it boots.'],
  ['explique la photosynthèse', 'Explique-moi la photosynthèse.'],
  ['explica la fotosíntesis', 'Explícame la fotosíntesis.'],
  ['how do I find large files', 'Find ways to list large files with commands, and explain each.'],
  ['how do I find large files', 'How do I find large files with du?'],
  ['how do I describe a role', 'Describe how to describe a role with examples.'],
  ['how do I compare a.txt with b.txt', 'Compare a.txt with b.txt.'],
])('for the prompt %j, the result %j is a prompt', (prompt, result) => {
  assert.equal(whyAnswer(prompt, result), undefined);
});

test.each([
  ['how do i sort a list', 'Use sort().', 'it answered the question'],
  ['how to clean a pan', 'How to clean a pan:\n1. Use soap.', 'it answered the question'],
  [
    'what is the capital of france',
    'What is the capital of France? The capital of France is Paris.',
    'it answered the question',
  ],
  ['how do I find large files', 'Find large files with du.', 'it answered the question'],
  ['how do I find large files', 'Find large files with `du -a`.', 'it answered the question'],
  ['how can I compare files', 'Compare files by running cmp.', 'it answered the question'],
  ['capital of australia', 'The capital of Australia is Canberra.', 'it answered the question'],
  ['best way to clean', 'The best way to clean is with vinegar.', 'it answered the question'],
  [
    'was ist die hauptstadt von australien',
    'Die Hauptstadt von Australien ist Canberra.',
    'it answered the question',
  ],
  ['warum ist der himmel blau', 'Das Licht ist gestreut.', 'it answered the question'],
  ['schreib ein gedicht', 'Die Katze schläft im Gras.', 'it carried the prompt out'],
  ['write a poem about cats', 'Cats are soft, cats are sweet.', 'it carried the prompt out'],
  ['make a meal plan', 'How to make a meal plan.', 'it carried the prompt out'],
])('for the prompt %j, the result %j is an answer', (prompt, result, why) => {
  assert.equal(whyAnswer(prompt, result), why);
});

test.each([
  ['Dear Anna,\nhello', 'write to Anna', true],
  ['Yes, it is.', 'is it', true],
  ['To go there, you need a car.', 'go there', true],
  ['Here are 3 tips: rest.', 'tips', true],
  ['Yes, it is. Why?', 'yes, it is. why', false],
  ['Name it', 'name', false],
])('%j begins like an answer to %j: %s', (result, prompt, expected) => {
  assert.equal(beginsAsAnswer(prompt, result), expected);
});

test.each([
  ['```js\nlet a = 1;\n```', 'set a', true],
  ['def add(a, b):\n  return a + b', 'add two', true],
  ['Fix it:\n```js\nlet a = 1;\n```', 'fix ```js\nlet a = 1;\n```', false],
  ['Answer as:\n```json\n{"a": 1}\n```', 'set a', false],
])('%j is code that was not in the prompt %j: %s', (result, prompt, expected) => {
  assert.equal(isWrittenCode(prompt, result), expected);
});
