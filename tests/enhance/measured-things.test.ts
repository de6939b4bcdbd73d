import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { readTokens } from '../../hub/enhance/canonical.ts';
import { compareGuarded } from '../../hub/enhance/guards.ts';
import { withEarlyMeasures } from '../../hub/enhance/measured-things.ts';

const read = (text: string) =>
  withEarlyMeasures(readTokens(text))
    .map(({ text: written }) => written)
    .join(' ');

describe('an amount is moved before its noun', () => {
  test.for([
    ['roast a chicken of 2 kg', 'roast a 2kg chicken'],
    ['how long does a beef joint of 2 kilograms need', 'how long does a 2kg beef joint need'],
    ['a rope of 10 m in a box', 'a 10m rope in a box'],
  ] as const)('%j is read as %j', ([text, expected]) => assert.equal(read(text), expected));
});

describe('an amount stays', () => {
  test.for([
    ['behind its value', 'a weight of 2kg'],
    ['behind a share', 'a slice of 2kg'],
    ['behind "the"', 'the chicken of 2kg'],
    ['before a noun', 'a slab of 2kg chicken'],
    ['in a range', 'a pipe of 2m to 3m'],
    ['if it is money', 'a photo of 5usd'],
    ['behind a preposition', 'a cake with cream of 2kg'],
  ] as const)('%s', ([, text]) => assert.equal(read(text), text));
});

const isHit = (a: string, b: string) => ['same', 'alike'].includes(compareGuarded(a, b).verdict);

test('an amount before its noun and one after it are the same request', () =>
  assert.ok(isHit('How do I cook a 2 kg chicken?', 'How do I cook a chicken of 2 kilograms?')));

test.for([
  ['Cook a chicken of 2 kg', 'Cook a chicken of 3 kg'],
  ['Cook a chicken of 2 kg', 'Cook 2 kg of chicken'],
  ['Swap a chicken of 2 kg for a duck of 3 kg', 'Swap a 3 kg chicken for a 2 kg duck'],
  ['Bake a cake for a child of 12 kg', 'Bake a 12 kg cake for a child'],
  ['Put a rope of 10 m in a box of 5 kg', 'Put a 5 kg rope in a 10 m box'],
] as const)('%s / %s are two requests', ([a, b]) => assert.ok(!isHit(a, b)));
