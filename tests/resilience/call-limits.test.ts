import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { type CallAdmission, type CallLimits, createMemoryCallLimiter } from '#resilience';

function scene() {
  const clock = createManualClock();
  const limiter = createMemoryCallLimiter(clock);
  /** Enters `count` calls. Returns the admitted ones, and the last refusal. */
  function enter(count: number, limits: CallLimits, key = 'cursor') {
    const all = Array.from({ length: count }, () => limiter.enter(key, limits));
    const admitted = all.filter(one => one.kind === 'admitted');
    return { admitted, refused: all.findLast(one => one.kind === 'refused') };
  }
  return { clock, limiter, enter };
}

const refused = (by: keyof CallLimits, retryAfterMs: number): CallAdmission => ({
  kind: 'refused',
  by,
  retryAfterMs,
});

test('as many concurrent calls are admitted as the limit says, and one more for each that ends', () => {
  const { enter } = scene();
  const limits = { maxConcurrentCalls: 4 };
  const { admitted, refused: last } = enter(128, limits);
  assert.equal(admitted.length, 4);
  assert.deepEqual(last, refused('maxConcurrentCalls', 1_000));
  admitted[0]?.leave();
  assert.equal(enter(2, limits).admitted.length, 1);
  assert.equal(enter(5, limits, 'other').admitted.length, 4, 'each caller has its own');
});

describe('a token bucket', () => {
  const limits = { rate: { calls: 10, perMs: 60_000 } };

  test('is full at first, and gets its tokens evenly', () => {
    const { clock, enter } = scene();
    const first = enter(25, limits);
    assert.equal(first.admitted.length, 10);
    assert.deepEqual(first.refused, refused('rate', 6_000));
    clock.advance(5_999);
    assert.deepEqual(enter(1, limits).refused, refused('rate', 1));
    clock.advance(1);
    assert.equal(enter(2, limits).admitted.length, 1);
    clock.advance(30_000);
    assert.equal(enter(9, limits).admitted.length, 5);
    clock.advance(600_000);
    assert.equal(enter(20, limits).admitted.length, 10, 'it holds no more than the limit');
  });

  test.for([
    [1, 1],
    [3, 1_000],
    [7, 1_000],
    [1_000, 7],
    [1_000_000, 86_400_000],
  ] as const)(
    'of %i calls in %i ms admits exactly these, and after each part of the period as many',
    ([calls, perMs]) => {
      const { clock, enter } = scene();
      const rate = { rate: { calls, perMs } };
      const many = Math.min(calls, 10_000) + 1;
      assert.equal(enter(many, rate).admitted.length, Math.min(calls, many));
      if (calls > 10_000) return;
      clock.advance(perMs);
      assert.equal(enter(calls + 1, rate).admitted.length, calls);
      for (let part = 0; part < calls && calls <= 7; part++) {
        clock.advance(perMs / calls);
        assert.equal(enter(2, rate).admitted.length, 1);
      }
    },
  );

  test('regains the token of a call that was not made, and none of a call that ended', () => {
    const { limiter, enter } = scene();
    const { admitted } = enter(10, limits);
    for (const one of admitted) one.leave();
    assert.equal(enter(1, limits).admitted.length, 0);
    limiter.giveBack('cursor');
    assert.equal(enter(2, limits).admitted.length, 1);
    limiter.giveBack('unknown');
  });

  test('loses no token for a call that the concurrency limit refuses', () => {
    const { enter } = scene();
    const both = { maxConcurrentCalls: 2, rate: { calls: 3, perMs: 60_000 } };
    const { admitted } = enter(9, both);
    assert.equal(admitted.length, 2);
    for (const one of admitted) one.leave();
    const { admitted: last, refused: why } = enter(2, both);
    assert.equal(last.length, 1);
    assert.deepEqual(why, refused('rate', 20_000));
  });
});

test('changed limits apply from the next call on', () => {
  const { clock, enter } = scene();
  assert.equal(enter(9, { maxConcurrentCalls: 2 }).admitted.length, 2);
  assert.equal(enter(9, { maxConcurrentCalls: 5 }).admitted.length, 3);
  assert.equal(enter(1, { maxConcurrentCalls: 1 }).admitted.length, 0);
  assert.equal(enter(9, { rate: { calls: 4, perMs: 1_000 } }).admitted.length, 4);
  clock.advance(1_000);
  assert.equal(enter(9, { rate: { calls: 2, perMs: 1_000 } }).admitted.length, 2);
});

test('callers that make no calls are forgotten, and no others', () => {
  const { clock, enter } = scene();
  const limits = { rate: { calls: 1, perMs: 1_000 } };
  enter(1, limits)
    .admitted.slice(0, 1)
    .forEach(one => one.leave());
  for (let caller = 0; caller < 20_000; caller++) enter(1, limits, `session ${caller}`);
  assert.equal(enter(1, limits).admitted.length, 0, 'its bucket is empty');
  clock.advance(1_000);
  assert.equal(enter(1, limits).admitted.length, 1);
});

test('callers in great number, of whom none is idle, are not searched for each new one', () => {
  const { enter } = scene();
  let refills = 0;
  const rate = {
    calls: 1,
    get perMs() {
      refills += 1;
      return 1_000;
    },
  };
  for (let caller = 0; caller < 11_000; caller++) enter(1, { rate }, `session ${caller}`);
  assert.ok(refills < 20 * 11_000, `${refills} refills`);
});
