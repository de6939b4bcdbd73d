import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { callTo } from '../../../hub/routing/call.ts';
import { createKeptImprovements } from '../../../hub/routing/steps/kept-improvements.ts';
import { callWith } from './scripted-call.ts';

const called = (args: string) =>
  callTo(undefined, callWith('tools/call', `{"name":"echo","arguments":${args}}`));

function open() {
  const clock = createManualClock();
  return { clock, kept: createKeptImprovements({ wholeLifeMs: 1_000 }, clock) };
}

test('an equal call reuses its improvements until its approval expires', () => {
  const { clock, kept } = open();
  const better = new Map([['a', 'better a']]);
  kept.keep(called('{"text":"a","n":1}'), better);
  assert.equal(kept.find(called('{ "n": 1, "text": "\\u0061" }')), better);
  assert.equal(kept.find(called('{"text":"a","n":2}')), undefined);
  clock.advance(1_000);
  assert.equal(kept.find(called('{"text":"a","n":1}')), undefined);
});

test('the oldest improvements are dropped when their total size is too large', () => {
  const { kept } = open();
  const long = 'x'.repeat(3_000_000);
  for (const name of ['1', '2', '3']) kept.keep(called(name), new Map([[name, long]]));
  assert.deepEqual(
    ['1', '2', '3'].map(name => kept.find(called(name)) !== undefined),
    [false, true, true],
  );
});

test('the number of calls without improvements is bounded too', () => {
  const { kept } = open();
  for (let at = 0; at <= 8_000; at++) kept.keep(called(String(at)), new Map());
  assert.deepEqual(
    ['0', '1', '8000'].map(name => kept.find(called(name)) !== undefined),
    [false, true, true],
  );
});
