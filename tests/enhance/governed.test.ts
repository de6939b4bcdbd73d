import assert from 'node:assert/strict';
import { test } from 'vitest';
import { canonicalOf } from '../../hub/enhance/canonical.ts';
import { otherGoverned } from '../../hub/enhance/governed.ts';

test.for([
  ['it was approved by Maria', 'it was approved for Maria', 'maria'],
  ['write docs for the module', 'write docs in the module', 'module'],
  ['list the flights to Oslo', 'list the flights from Oslo', 'oslo'],
  ['write docs for the module', 'write docs of the module', undefined],
  ['store it in the box', 'store it on the box', 'box'],
  ['an essay in Spanish', 'an essay on Spanish', 'spanish'],
  ['remind me in an hour', 'remind me on the hour', 'hour'],
  ['a letter for Anna', 'a letter of Anna', 'anna'],
  ['a note about the fridge', 'a note on the fridge', 'fridge'],
  ['meet me at the station', 'meet me behind the station', 'station'],
  ['photos in Paris', 'photos of Paris', 'paris'],
  ['a woman and three men are posing', 'a woman is posing for three men', '3'],
  ['tests for add and subtract', 'tests for subtract and add', undefined],
  ['translate it into German', 'translate it to German', undefined],
  ['turn it into a table', 'format it as a table', undefined],
  ['data for testing it', 'data to test it', undefined],
  ['pull it out of the text', 'extract it from the text', undefined],
  ['due on June 3', 'due on the 3rd of June', undefined],
  ['the longest word in a string', 'the longest word of a string', undefined],
  ['a text on how plants shape opinion', 'how opinion is shaped by plants', undefined],
  ['copy it from a to b', 'copy it to b from a', undefined],
  ['a talk about the sea', 'a talk on the sea', undefined],
  ['cook a soup with a potato of 200 g', 'cook a soup of 200 g with a potato', '200g'],
  ['how do roots of plants feed cells', 'how do roots feed cells of plants', 'plant'],
  ['the roof of the house', 'the colour of the house', undefined],
  ['the reason of the delay in it', 'the cause of the delay in it', undefined],
  ['move it to its own module', 'move it to a module of its own', undefined],
] as const)('%j and %j differ in the preposition of: %j', ([a, b, expected]) =>
  assert.equal(otherGoverned(canonicalOf(a), canonicalOf(b)), expected),
);
