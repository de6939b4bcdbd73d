import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { classOf } from '../../hub/enhance/pair-class.ts';

const garbage = [
  'Explain how garbage collection works',
  'Describe the way garbage collection works',
];
const known = classOf(garbage[0] ?? '', garbage[1] ?? '');

describe('a pair is in the class of another pair', () => {
  test.for([
    ['explain how promises work', 'describe the way promises work'],
    ['describe the way promises work', 'explain how promises work'],
    [
      'Please explain how the event loop of Node works',
      'Describe the way the event loop of Node works!',
    ],
  ] as const)('if it differs in the same words: %j', ([a, b]) => {
    assert.equal(classOf(a, b), known);
  });

  test.for([
    ['explain how promises work', 'show the way promises work'],
    ['explain how promises work', 'describe the way promises fail'],
    ['explain promises, how they work', 'describe promises, the way they work'],
    ['explain how it works', 'describe it, the way it works'],
  ] as const)('only if it differs in the same words at the same positions: %j', ([a, b]) => {
    assert.notEqual(classOf(a, b), known);
  });

  test('whatever the shared words are, unless their order differs', () => {
    const called = classOf(
      'explain how the worker calls the server',
      'say how the worker calls the server',
    );
    const swapped = classOf(
      'explain how the worker calls the server',
      'say how the server calls the worker',
    );
    assert.notEqual(called, swapped);
  });
});

test('long prompts have classes of their own', () => {
  const [a, b, c] = ['a ', 'b ', 'c '].map(word => word.repeat(1_000));
  assert.notEqual(classOf(`x ${a}`, `y ${a}`), classOf(`x ${b}`, `y ${b}`));
  assert.equal(classOf(`x ${c}`, `y ${c}`), classOf(`y ${c}`, `x ${c}`));
});
