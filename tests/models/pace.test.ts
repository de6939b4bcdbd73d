import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createPaces } from '../../hub/models/pace.ts';

const figures = { promptTokens: 100, promptMs: 3_000, loadMs: 0 };

function openPaces() {
  const clock = createManualClock();
  const paces = createPaces(clock);
  const patience = (length: number, isSwitch = false) =>
    paces.patienceMs('chat', length, 10_000, isSwitch);
  return { clock, paces, patience };
}

test('patience is that of the rule for a short prompt, and grows with the length', () => {
  const { patience } = openPaces();
  assert.equal(patience(300), 10_000);
  // Twice the time for 1,000 tokens at 10 ms each.
  assert.equal(patience(3_000), 25_000);
});

test('patience follows the measured pace of the model', () => {
  const { paces, patience } = openPaces();
  paces.answered('chat', 5_000, { ...figures, promptMs: 100 });
  assert.equal(patience(3_000), 10_000);
  paces.answered('chat', 5_000, figures);
  assert.equal(patience(3_000), 65_000);
  // The slowest recent measurement counts, because a model reads the cached beginning of a prompt at once.
  paces.answered('chat', 5_000, { ...figures, promptMs: 10 });
  assert.equal(Math.round(patience(3_000)), 53_040);
  // Answers with too few tokens, or without figures, do not count as measurements.
  paces.answered('chat', 5_000, { ...figures, promptTokens: 2 });
  paces.answered('chat', 5_000, { promptTokens: 900, promptMs: undefined, loadMs: undefined });
  assert.equal(Math.round(patience(3_000)), 53_040);
  assert.equal(paces.patienceMs('other', 3_000, 10_000, false), 25_000);
});

test('patience includes the measured load time of a model that was unloaded for another', () => {
  const { paces, patience } = openPaces();
  paces.answered('chat', 9_000, { ...figures, loadMs: 6_000 });
  paces.answered('chat', 3_000, { ...figures, loadMs: 1 });
  assert.equal(patience(0), 10_000);
  assert.equal(patience(0, true), 17_000);
});

test('patience allows for aborted prompts, until a token arrives', () => {
  const { clock, paces, patience } = openPaces();
  // 1,000 tokens take 10 s, of which 4 s have passed.
  paces.abandoned('chat', 3_000, 4_000);
  assert.equal(patience(0), 16_000);
  clock.advance(11_000);
  assert.equal(patience(0), 10_000);
  // The prompt has taken 5 s instead of 1 s, so it may take another 5 s.
  paces.abandoned('chat', 300, 5_000);
  assert.equal(patience(0), 15_000);
  clock.advance(3_000);
  assert.equal(patience(0), 12_000);
  paces.heard('chat');
  assert.equal(patience(0), 10_000);
});

test('patience for a model that must be loaded also allows for aborted prompts to other models', () => {
  const { paces, patience } = openPaces();
  paces.abandoned('other', 3_000, 4_000);
  assert.equal(patience(0), 10_000);
  assert.equal(patience(0, true), 16_000);
});

test('on a slow machine each aborted prompt increases the patience, until one is answered', () => {
  const { clock, paces, patience } = openPaces();
  const giveUp = () => {
    const afterMs = patience(900);
    clock.advance(afterMs);
    paces.abandoned('chat', 900, afterMs);
    return afterMs;
  };
  assert.deepEqual([giveUp(), giveUp(), giveUp()], [11_000, 38_000, 86_000]);
  clock.advance(100_000);
  assert.equal(patience(900), 123_000);
  assert.equal(patience(9_000), 1_185_000);
  paces.answered('chat', 60_000, { ...figures, promptMs: 10_000 });
  assert.equal(patience(900), 65_000);
});

test('a prompt that was read after others does not make its model slower', () => {
  const { clock, paces, patience } = openPaces();
  paces.abandoned('chat', 9_000, 1_000);
  clock.advance(20_000);
  paces.abandoned('chat', 900, 20_000);
  clock.advance(1_000_000);
  assert.equal(patience(900), 11_000);
});

test('the usual duration of a call is an average weighted to the latest', () => {
  const { paces } = openPaces();
  assert.equal(paces.usualMs('chat'), 0);
  paces.answered('chat', 2_000, figures);
  assert.equal(paces.usualMs('chat'), 2_000);
  paces.answered('chat', 3_000, figures);
  assert.equal(paces.usualMs('chat'), 2_200);
});
