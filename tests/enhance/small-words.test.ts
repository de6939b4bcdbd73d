import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { otherSmallWord } from '../../hub/enhance/small-words.ts';

const wordOf = (a: string, b: string) => otherSmallWord(canonicalOf(a), canonicalOf(b));

test.for([
  ['new and used', 'find a used electric car', 'find a new electric car'],
  ['used', 'find a used car', 'find a car'],
  ['second articles', 'names for a black and white cat', 'names for a black and a white cat'],
  ['compared persons', 'I love it more than I do you', 'I love it more than you do'],
  ['brackets', 'evaluate 8 - (3 + 2)', 'evaluate (8 - 3) + 2'],
  ['missing brackets', 'evaluate 2 * (3 + 4)', 'evaluate 2 * 3 + 4'],
  ['reflexives', 'how do I mute myself on Zoom?', 'how do I mute someone on Zoom?'],
  ['pronouns', 'take the dog with you', 'take the dog from you'],
  ['only', 'notify me only if it fails', 'notify only me if it fails'],
  ['the only one', 'show me the only open issue', 'show me only the open issue'],
  ['not all', 'not all tests pass, why?', 'all tests do not pass, why?'],
  ['and me', 'send it to the client and me', 'send it to the client for me'],
  ['and its', 'delete the file and its backup', "delete the file's backup"],
  ['little', 'give me a little time', 'give me little time'],
  ['a cold', 'protect me from a cold', 'protect me from the cold'],
  ['one certain thing', 'What is time?', "What's the time?"],
  ['the same', 'use the same key for both', 'use both keys for the same'],
  ['comparisons', 'compare A with B and C', 'compare A and B with C'],
  ['each', 'write one test for each of the modules', 'write one test for all of the modules'],
  ['each and one', 'each of them should return a list', 'all of them should return one list'],
  ['would', 'what would you do with a lamp?', 'what did you do with a lamp?'],
  ['it', 'tell me what time really is', 'tell me what time it really is'],
  ['what must not be', 'they must not call us', 'they need not call us'],
  ['used to', 'I used to work at night', 'I am used to work at night'],
  ['what is remembered', 'remind me, I forgot to call', 'remind me, I forgot calling'],
  ['particles', 'break down the costs', 'break the costs'],
  ['other particles', 'turn up the heating', 'turn the heating down'],
] as const)('function words differ in %s', ([, a, b]) => {
  assert.notEqual(wordOf(a, b), undefined);
  assert.equal(wordOf(b, a), wordOf(a, b));
});

test.for([
  ['only before a verb', 'only notify me if it fails', 'notify me only if it fails'],
  ['only before and behind', 'using only CSS, center it', 'center it using only CSS'],
  ['brackets around words', 'list the PRs (oldest first)', 'list the PRs, oldest first'],
  ['each and every', 'list each file with its size', 'list every file with its size'],
  ['a little dog', 'draw a little dog', 'draw little dogs'],
  ['a cold drink', 'mix a cold drink', 'mix the cold drink'],
  ['used to', 'write a tool used to sort it', 'write a tool that is used to sort it'],
  ['used', 'list the ports used by it', 'list the ports that are used by it'],
  ['particles behind the object', 'turn off the heating', 'turn the heating off'],
  ['particles of other verbs', 'speed up my tests', 'make my tests faster'],
  ['would', 'what would be a good title?', 'what is a good title?'],
] as const)('function words do not differ in %s', ([, a, b]) =>
  assert.equal(wordOf(a, b), undefined),
);
