import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { compareGuarded } from '../../../hub/enhance/guards.ts';
import { withoutIdioms } from '../../../hub/enhance/idioms.ts';

const isHit = (a: string, b: string) =>
  [compareGuarded(a, b), compareGuarded(b, a)].every(({ verdict }) =>
    ['same', 'alike'].includes(verdict),
  );

describe('lists without an order are the same', () => {
  test.for([
    ['Suggest a soup with leeks, rice and kale.', 'Suggest a soup with kale, rice, and leeks.'],
    ['A recipe for buns with oats and figs', 'A recipe for buns using figs and oats'],
    ['What can I cook with eggs, rice and feta?', 'What can I cook with feta, eggs and rice?'],
    [
      'Gifts for a man who likes tea, jazz and maps',
      'Gifts for a man who likes maps, tea and jazz',
    ],
    ['Plan a trip to Ulm with my wife and our dog', 'Plan a trip to Ulm with our dog and my wife'],
    ['Find a dog that is calm, small and gentle', 'Find a dog that is small, gentle and calm'],
    [
      'Find hotels in Ulm with a pool, a gym and a bar',
      'Find hotels in Ulm with a bar, a gym and a pool',
    ],
    [
      'A tale that features a fox, a key and a storm',
      'A tale that features a storm, a fox and a key',
    ],
    ['What is the sum of 17, 5 and 48?', 'What is the sum of 48, 17, and 5?'],
    ['Add up 4, 29 and 5', 'Add up 29, 5 and 4'],
    ['Delete the branches fix-a, fix-b and old', 'Delete the branches old, fix-a and fix-b'],
    ['Define the terms simile, irony and trope', 'Define the terms trope, simile, and irony'],
    [
      'What do Bach, Bartok and Ives have in common?',
      'What do Ives, Bach and Bartok have in common?',
    ],
  ] as const)('%s / %s', ([a, b]) => assert.ok(isHit(a, b), compareGuarded(a, b).why));
});

describe('lists that may have an order', () => {
  test.for([
    ['keys', 'Sort the rows by name, age and city', 'Sort the rows by city, name and age'],
    ['columns', 'Make a table with name, age and city', 'Make a table with city, name and age'],
    ['steps', 'Wash, peel and cut the carrots', 'Peel, cut and wash the carrots'],
    [
      'courses',
      'Plan a menu for a dinner with soup, fish and cake',
      'Plan a menu for a dinner with cake, soup and fish',
    ],
    [
      'stripes',
      'Find a flag that is red, white and blue',
      'Find a flag that is blue, white and red',
    ],
    [
      'colours',
      'Find a shirt that is red, white and blue',
      'Find a shirt that is blue, white and red',
    ],
    [
      'participles',
      'Return text that is trimmed, reversed and joined',
      'Return text that is joined, trimmed and reversed',
    ],
    [
      'a given order',
      'He likes tea, jazz and maps in that order',
      'He likes maps, tea and jazz in that order',
    ],
    ['differences', 'What is 17 minus 5 minus 4?', 'What is 5 minus 17 minus 4?'],
    [
      'texts',
      'Write a line that starts with I love tea and art',
      'Write a line that starts with I love art and tea',
    ],
    [
      'formats',
      'A plate that requires a letter and a digit',
      'A plate that requires a digit and a letter',
    ],
    ['values', 'Parse a date that is day and month', 'Parse a date that is month and day'],
    ['routes', 'Plan a route via Rome, Bern and Ulm', 'Plan a route via Ulm, Rome and Bern'],
  ] as const)('%s', ([, a, b]) => assert.ok(!isHit(a, b)));
});

describe('other lists', () => {
  test.for([
    ['Make a salad with nuts and a soup', 'Make a soup with nuts and a salad'],
    [
      'Make a salad with chicken and a soup with fish',
      'Make a salad with fish and a soup with chicken',
    ],
    ['A salad with vegan cheese and ham', 'A salad with ham and vegan cheese'],
    ['Find hotels with free parking and breakfast', 'Find hotels with breakfast and free parking'],
    ['Print lines like name and age', 'Print lines like age and name'],
    ['What is the moving average of 3, 1 and 2?', 'What is the moving average of 1, 2 and 3?'],
    [
      'The house and the car for my son and my wife',
      'The house and the car for my wife and my son',
    ],
    ['Suggest a soup with leeks and rice', 'Suggest a soup with leeks and beans'],
    ['Suggest a soup with leeks and rice', 'Suggest a soup with leeks or rice'],
    ['Suggest a soup with leeks, rice and kale', 'Suggest a soup with leeks and kale'],
    [
      'Gifts for a man who loves cats and hates dogs',
      'Gifts for a man who loves dogs and hates cats',
    ],
    [
      'Find a dog that is big and a cat that is small',
      'Find a dog that is small and a cat that is big',
    ],
    ['A card for my son and my wife', "A card for my wife and my son's wife"],
    ['A tale with a dog and a cat that is old', 'A tale with a cat and a dog that is old'],
    [
      'Find rooms with a bath or a shower and a view',
      'Find rooms with a view or a shower and a bath',
    ],
    ['A regex that allows letters and digits', 'A regex that allows letters or digits'],
    ['A regex that requires a letter and a digit', 'A regex that requires a digit and two letters'],
    [
      'Find a phone with a lens and a case with a strap',
      'Find a case with a lens and a phone with a strap',
    ],
    ['Find a dog that is not old and calm', 'Find a dog that is calm and not old'],
    ['Drop the columns a and b of c', 'Drop the columns b and a of c'],
    ['Do cats and dogs eat birds?', 'Do birds eat cats and dogs?'],
    ['What is the sum of 3 and 4, times 5?', 'What is the sum of 4 and 5, times 3?'],
  ] as const)('%s / %s are two requests', ([a, b]) => assert.ok(!isHit(a, b)));
});

test('no text takes long', () => {
  for (const part of [
    'soup with ',
    'a, ',
    'that is ',
    'a and ',
    'with my dog, ',
    'sum of 1, ',
    'do a, ',
  ]) {
    const cpuMs = startCpuTimer();
    withoutIdioms(part.repeat(Math.floor(1_000 / part.length)));
    assert.ok(cpuMs() < 100, part);
  }
});
