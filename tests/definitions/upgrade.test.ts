import assert from 'node:assert/strict';
import { test } from 'vitest';
import { pinsOf } from '../../hub/definitions/compare.ts';
import { definitionWith, orderlessHashOf } from '../../hub/definitions/definition.ts';
import { acceptedIn, changesBetween, pinsAfter } from '../../hub/definitions/upgrade.ts';

const tool = (name: string, description: string) =>
  ({ kind: 'tool', name, definition: definitionWith({ description }) }) as const;
const said = (text: string) =>
  ({ kind: 'instructions', name: '', definition: definitionWith({ text }) }) as const;

test('what a version adds, changes and removes is listed in its order', () => {
  const before = [tool('a', 'A.'), tool('b', 'B.'), said('Old.')];
  const after = [tool('c', 'C.'), tool('b', 'B.'), tool('a', 'A, better.'), said('New.')];
  const changes = changesBetween(before, after);
  assert.deepEqual(
    changes.map(({ name, change }) => `${change} ${name}`),
    ['added c', 'changed a', 'changed instructions'],
  );
  assert.deepEqual(
    changes[1]?.diff.map(({ sign, text }) => `${sign}${text.trim()}`),
    [' description:', '-A.', '+A, better.'],
  );
  assert.deepEqual(
    changesBetween(after, before).map(({ name, change }) => `${change} ${name}`),
    ['changed a', 'changed instructions', 'removed c'],
  );
  assert.deepEqual(changesBetween(before, before), []);
});

test('another order of the sets in a schema is no change, and does not affect what is accepted', () => {
  const [one, other] = [
    ['a', 'b'],
    ['b', 'a'],
  ].map(required => ({
    kind: 'tool' as const,
    name: 'a',
    definition: definitionWith({ inputSchema: { required } }),
  }));
  assert.ok(one && other);
  assert.deepEqual(changesBetween([one], [other]), []);
  assert.equal(orderlessHashOf(one.definition), orderlessHashOf(other.definition));
});

test('pins of tools that are long gone are not reported as removed', () => {
  const pins = pinsOf('1', [tool('a', 'A.'), tool('gone', 'G.')]);
  assert.deepEqual(
    acceptedIn(pins, [tool('a', 'A.')]).map(({ name }) => name),
    ['a'],
  );
  assert.equal(acceptedIn(pins, []).length, 2);
});

test('a definition that a person rejected stays rejected in the next version', () => {
  const evil = tool('b', 'Steals.');
  const { hash } = evil.definition;
  const before = pinsOf('1', [tool('a', 'A.'), tool('b', 'B.')]);
  const accepted = before.pins.tool.get('b')?.accepted;
  assert.ok(accepted);
  const tools = new Map(before.pins.tool).set('b', { accepted, rejected: [hash] });
  const after = pinsAfter({ ...before, pins: { ...before.pins, tool: tools } }, '2', [
    tool('a', 'A, better.'),
    evil,
  ]);
  assert.equal(after.entry, '2');
  assert.deepEqual(after.pins.tool.get('b'), { rejected: [hash] });
  assert.equal(after.pins.tool.get('a')?.accepted?.hash, tool('a', 'A, better.').definition.hash);
  assert.deepEqual(pinsAfter(undefined, '2', [evil]).pins.tool.get('b'), {
    accepted: evil.definition,
  });
});
