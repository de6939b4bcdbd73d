import assert from 'node:assert/strict';
import { test } from 'vitest';
import { isBareIn, withSpellingOf } from '../../hub/enhance/shared-spelling.ts';

test.for([
  [
    'Who first said the phrase carpe diem?',
    'Who first said the phrase "carpe diem"?',
    'Who first said the phrase "carpe diem"?',
  ],
  ['What does `git stash pop` do?', 'what does git stash pop do', 'What does git stash pop do?'],
  [
    'How fast is the function sorted in Python?',
    'How fast is sorted() in Python?',
    'How fast is the function sorted() in Python?',
  ],
  ['Explain the sorted function.', 'Explain sorted()', 'Explain the sorted() function.'],
] as const)('the spelling of %s follows that of %s', ([text, other, written]) =>
  assert.equal(withSpellingOf(text, other), written),
);

test.for([
  ['Search for the phrase red car', 'Search for the phrase "red car"'],
  ['Count words in it', 'Count "words" in it'],
  ['Kill `ps aux`', 'Kill ps aux'],
  ['Pass the function save to onClick', 'Pass save() to onClick'],
  ['Set target to worker', 'Set target to worker()'],
] as const)('the spelling of %s does not follow that of %s', ([text, other]) =>
  assert.equal(withSpellingOf(text, other), text),
);

test('a word without quotes has white space or punctuation around it', () => {
  assert.ok(isBareIn('open a.txt, please', 'a.txt'));
  assert.ok(!isBareIn('open "a.txt"', 'a.txt'));
  assert.ok(!isBareIn('open it', 'a.txt'));
});
