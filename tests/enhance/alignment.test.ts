import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';

const verdictOf = (a: string, b: string) => {
  const { verdict } = compareGuarded(a, b);
  assert.equal(compareGuarded(b, a).verdict, verdict, 'the order of the two prompts matters');
  return verdict;
};

describe('requests count as alike:', () => {
  test.for([
    [
      'requirements in sentences of their own',
      'Write a page for a bakery. It needs a menu and a map.',
      'I need a page for a bakery. It should have a menu and a map.',
    ],
    ['a verb and its noun', 'Add validation to the form', 'Validate the form'],
    [
      'a noun with a preposition and before another noun',
      'Build a chat app with React',
      'Build a React chat app',
    ],
    ['an adjective before and behind its noun', 'Which tests are slow?', 'List the slow tests'],
    ['what is looked for and where', 'Check this code for bugs', 'Find bugs in this code'],
    ['one week and a week', 'Delete logs older than a week', 'Delete logs older than one week'],
    ['a noun again and a pronoun', 'Open the file and read it', 'Open the file and read the file'],
    [
      'a part of a request behind a colon',
      'Fix the login: it rejects spaces',
      'Fix the login, it rejects spaces',
    ],
    [
      'a relative clause without a pronoun',
      'Find the job that locked the row',
      'Find the job the row was locked by',
    ],
    ['words that are nearly synonyms', 'Mend a faulty tap', 'Repair a broken tap'],
    ['"not" before and behind the subject', "Why isn't my code fast?", 'Why is my code not fast?'],
    [
      '"only" before a verb and a condition',
      'Only delete it if it is old',
      'Delete it only if it is old',
    ],
    [
      'adjectives behind their noun',
      'Write a card that is short and kind',
      'Write a short and kind card',
    ],
    [
      'American and British words',
      'Organise the colours by theatre',
      'Organize the colors by theater',
    ],
    [
      'a subject behind words with a preposition',
      'Under load it loses mails. Explain why.',
      'It loses mails under load. Explain why.',
    ],
    ['words in other quotes', "Explain the error 'no route'", 'Explain the error "no route"'],
    ['a thing and its name', 'Call the method named getData', 'Call the method getData'],
    ['texts with other bullets', 'Sort:\n* b\n* a', 'Sort:\n- b\n- a'],
    ['"no" and "without"', 'List users that have no email', 'List users without an email'],
  ] as const)('%s', ([, a, b]) => assert.equal(verdictOf(a, b), 'alike'));
});

describe('requests do not count as alike:', () => {
  test.for([
    ['all and some', 'Answer all questions', 'Answer some questions'],
    ['all and certain ones', 'Delete the logs', 'Delete all logs'],
    ['kinds of quotes', 'Replace single quotes', 'Replace quotes'],
    ['code with other quotes', 'Format:\nx = "a";', "Format:\nx = 'a';"],
    ['a negation less', "Why isn't the cache used?", 'Why is the cache used?'],
    ['things of a similar kind', 'Write a class for it', 'Write a course for it'],
    ['a client and a user', 'List the users', 'List the customers'],
    ['what is inside', 'Draw a glass of wine', 'Draw a wine glass'],
    ['who says what', 'Show that he said she was late', 'Show that she said he was late'],
    ['steps in another order', 'First build, then test', 'First test, then build'],
    [
      'other conditions',
      'If it rains, stay in; if it snows, go out',
      'If it snows, stay in; if it rains, go out',
    ],
    [
      'other places',
      'In the header, add a link; in the footer, add a logo',
      'In the footer, add a link; in the header, add a logo',
    ],
    [
      'other objects',
      'Update the table and delete the index',
      'Update the index and delete the table',
    ],
    [
      'other subjects',
      'Users can read posts, admins can write posts',
      'Admins can read posts, users can write posts',
    ],
    [
      'other prepositions',
      'Write tests for the server of the client',
      'Write tests for the client of the server',
    ],
    [
      'prepositions that changed places',
      'Add a link in the header to the footer',
      'Add a link in the footer to the header',
    ],
    [
      'owners that changed places',
      'The app has a cache and the server has a queue. Draw it.',
      'The app has a queue and the server has a cache. Draw it.',
    ],
    [
      'labels that changed places',
      'A: reads, B: writes. Draw this',
      'B: reads, A: writes. Draw this',
    ],
    ['"and" and "or"', 'Check the digit and the symbol', 'Check the digit or the symbol'],
    ['one more negation', 'You can not change the API', 'You can not not change the API'],
    [
      'another conjunction of nothing but a pronoun',
      'Wash it before using it',
      'Wash it after using it',
    ],
    ['another choice of what is asked', 'Which tests are slow?', 'Fix the slow tests'],
    ['a quality more', 'Is Anna a pilot?', 'Is Anna a good pilot?'],
    ['one request less', 'Explain the bug and fix it', 'Explain the bug'],
    ['purpose and action', 'Use short names to save space', 'Save space to use short names'],
    ['what a number counts', 'Book a room for two nights', 'Book two rooms for a night'],
    ['the owner and the thing', 'Use the API of the app', 'Use the app of the API'],
    [
      'a noun instead of its pronoun',
      'Here is my test and code. Change the code so that the test passes.',
      'Here is my test and code. Change the test so that it passes.',
    ],
    ['"of each" and "of all"', 'Limit the memory of each', 'Limit the memory of all'],
    ['a receiver instead of a topic', 'Write for a customer', 'Write about a customer'],
    ['words that are about their spelling', 'Replace colour by color', 'Replace color by colour'],
    [
      'the place of "only"',
      'Only delete files if they are old',
      'Delete only files if they are old',
    ],
  ] as const)('%s', ([, a, b]) => assert.ok(['unsure', 'different'].includes(verdictOf(a, b))));
});
