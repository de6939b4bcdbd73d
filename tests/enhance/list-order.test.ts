import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { compareGuarded } from '../../hub/enhance/guards.ts';

const verdictOf = (a: string, b: string) => {
  const { verdict } = compareGuarded(a, b);
  assert.equal(compareGuarded(b, a).verdict, verdict, 'the order of the two prompts matters');
  return verdict;
};

describe('a list in another order is the same request', () => {
  test.for([
    ['of things to compare', 'Compare Deno and Node', 'Compare Node and Deno'],
    [
      'of three of them',
      'Compare Kafka, NATS and Pulsar for a small team',
      'Compare Pulsar, Kafka and NATS for a small team',
    ],
    [
      'of their aspects',
      'Compare the price and the weight of these tents',
      'Compare the weight and the price of these tents',
    ],
    [
      'of a difference',
      'Explain the difference between a moth and a butterfly',
      'What is the difference between a butterfly and a moth?',
    ],
    [
      'of both ends',
      'Find trains between Bath and York on Sunday',
      'Find trains on Sunday between York and Bath',
    ],
    ['of things to install', 'Install jq, git and curl', 'Install curl, jq and git'],
    [
      'of things to check, of several words',
      'Check the disk space, the memory use and the CPU load',
      'Check the CPU load, the disk space and the memory use',
    ],
    ['of topics', 'Explain mitosis and meiosis', 'Explain meiosis and mitosis'],
    ['of alternatives', 'Should I learn Rust or Go?', 'Should I learn Go or Rust?'],
    [
      'of alternatives of several words',
      'Should I take a hot shower or a cold bath?',
      'Should I take a cold bath or a hot shower?',
    ],
    ['of pros and cons', 'List the pros and cons of solar', 'List the cons and pros of solar'],
    [
      'of what is done together',
      'May I take zinc and iron together?',
      'May I take iron and zinc together?',
    ],
    [
      'of both',
      'Which plants are toxic to both cats and dogs?',
      'Which plants are toxic to both dogs and cats?',
    ],
    [
      'of the situation and the request',
      'I have two cats. Suggest a sofa.',
      'Suggest a sofa. I have two cats.',
    ],
    [
      'of a condition and an action',
      'If the disk is full, send a mail',
      'Send a mail if the disk is full',
    ],
  ] as const)('%s', ([, a, b]) => assert.equal(verdictOf(a, b), 'alike'));
});

describe('a list in another order is another request', () => {
  test.for([
    ['of steps', 'Run lint, test and build', 'Run test, lint and build'],
    [
      'of other forms of the words',
      'Run linting, tests and build',
      'Run the tests, lint and build',
    ],
    ['of actions', 'Stop the server and delete the logs', 'Delete the logs and stop the server'],
    ['of sentences', 'Stop the server. Delete the logs.', 'Delete the logs. Stop the server.'],
    ['of keys to sort by', 'Sort the files by date and size', 'Sort the files by size and date'],
    ['of groups', 'Group the sales by year and month', 'Group the sales by month and year'],
    ['of columns', 'Select name, age and city from users', 'Select city, name and age from users'],
    ['of what is printed', 'Print the name and the age', 'Print the age and the name'],
    ['of ranks', 'Rank Rome, Bern and Ulm by size', 'Rank Ulm, Rome and Bern by size'],
    ['of two lists', 'Rename a and b to c and d', 'Rename b and a to c and d'],
    ['of letters', 'Swap a, b and c', 'Swap b, a and c'],
    ['of an article and a letter', 'Subtract a from b', 'Subtract b from a'],
    ['behind then', 'Add salt, then pepper', 'Add pepper, then salt'],
    [
      'of things to compare, with words behind the last one',
      'Compare tea and coffee with milk',
      'Compare coffee and tea with milk',
    ],
    [
      'of things to compare, with a word before the first one',
      'Compare red apples and pears',
      'Compare red pears and apples',
    ],
    [
      'of things to compare, with a noun for all',
      'Compare plum and pear jam',
      'Compare pear and plum jam',
    ],
    [
      'that is given',
      'Compare Rome, Bern and Ulm in that order',
      'Compare Ulm, Bern and Rome in that order',
    ],
    [
      'that is in sequence',
      'Install Node, Deno and Bun in sequence',
      'Install Bun, Node and Deno in sequence',
    ],
    ['in two lists', 'Compare A and B, C and D', 'Compare A and C, B and D'],
    ['of alternatives of pairs', 'Install A, B or C and D', 'Install D, B or C and A'],
    ['of "and" and "or"', 'Should I take A and B or C?', 'Should I take A or B and C?'],
    [
      'of what belongs to others',
      'Install the app for Ann and the driver for Ben',
      'Install the driver for Ann and the app for Ben',
    ],
  ] as const)('%s', ([, a, b]) => assert.notEqual(verdictOf(a, b), 'alike'));
});
