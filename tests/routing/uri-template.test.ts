import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { matcherOf } from '../../hub/routing/uri-template.ts';

const plenty = () => ({ stepsLeft: 1e9 });

describe('a URI template', () => {
  const rows: readonly (readonly [string, string, boolean])[] = [
    ['echo://note/{name}', 'echo://note/one', true],
    ['echo://note/{name}', 'echo://note/', true],
    ['echo://note/{name}', 'echo://note/a/b', false],
    ['echo://note/{name}', 'echo://other/one', false],
    ['echo://note/{name}', 'echo://note', false],
    ['file:///{+path}', 'file:///a/b/c.txt', true],
    ['file://{/path*}', 'file://x', true],
    ['x://{a}/{b}', 'x://1/2', true],
    ['x://{a}/{b}', 'x://1', false],
    ['x://{a}-{b}', 'x://1-2-3', true],
    ['search://all{?q,page}', 'search://all?q=a/b&page=2', true],
    ['search://all{?q,page}', 'search://all', true],
    ['search://all{?q}', 'search://all?q=a#b', true],
    ['x://{a}', 'x://1?b=2', true],
    ['x://{a}', 'x://1#b', true],
    ['x://{a}/c', 'x://1/2/c', false],
    ['x://{a*}/c', 'x://1/2/c', true],
    ['x://a', 'x://a', true],
    ['x://a', 'x://ab', false],
    ['', '', true],
    ['', 'x', false],
    ['{', '{', true],
    ['{}', 'anything', true],
    ['x://.*', 'x://zz', false],
    ['x://(a+)+{v}', 'x://(a+)+1', true],
  ];
  for (const [template, uri, expected] of rows)
    test(`${template} ${expected ? 'matches' : 'does not match'} ${uri}`, () => {
      assert.equal(matcherOf(template)(uri, plenty()), expected);
    });

  test('is matched quickly, whatever a server writes into it', () => {
    const uri = `x://${'a'.repeat(2000)}!`;
    const hostile = [
      `x://${'{a}'.repeat(30)}b`,
      `x://${'{+a}a'.repeat(15)}`,
      `${'{+a}'.repeat(31)}b`,
      `x://${'{a}'.repeat(100_000)}`,
      'a'.repeat(1_000_000),
      '{'.repeat(100_000),
    ].map(matcherOf);
    const cpuMs = startCpuTimer();
    for (const matches of hostile) assert.equal(matches(uri, plenty()), false);
    assert.ok(cpuMs() < 2_000, `${cpuMs()} ms`);
  });

  test('a thousand hostile templates stay within the budget', () => {
    const uri = `y://${'a'.repeat(2000)}`;
    const many = Array.from({ length: 1_000 }, (_, at) => matcherOf(`${'{+a}a'.repeat(15)}${at}!`));
    const budget = { stepsLeft: 100_000 };
    assert.ok(many.every(matches => !matches(uri, budget)));
    assert.ok(budget.stepsLeft < 0);
    assert.ok(budget.stepsLeft > -10_000, 'what is left over is no more than one part');
  });

  test.each([
    ['x://{a}', `x://${'a'.repeat(2_100)}`, 1e9, true],
    [`x://${'{a}'.repeat(40)}`, 'x://a', 1e9, true],
    ['x://{a}b', `x://${'a'.repeat(100)}`, 50, true],
    ['x://{a}', 'x://a/b', 1e9, false],
    ['y://{a}', `x://${'a'.repeat(2_100)}`, 1e9, false],
  ])('%s that does not match %s in %d steps was given up: %s', (template, uri, steps, isUnsure) => {
    const budget = { stepsLeft: steps, isUnsure: false };
    assert.equal(matcherOf(template)(uri, budget), false);
    assert.equal(budget.isUnsure, isUnsure);
  });

  test('that begins with another text than the URI takes one step', () => {
    const budget = { stepsLeft: 1_000 };
    for (let at = 0; at < 1_000; at++)
      assert.equal(matcherOf(`x://${at}/${'{+a}a'.repeat(15)}`)('y://1', budget), false);
    assert.equal(budget.stepsLeft, 0);
  });
});
