import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { backoffMs } from '#core';
import { type RestartLimit, recordRestart } from '#resilience';

/** Creates a counter of restarts (restart intensity) on a clock that the test moves. */
function createIntensity(limit: RestartLimit, clock: { monotonic(): number }) {
  let restarts: readonly number[] = [];
  return {
    record() {
      const { restartsMs, isAllowed } = recordRestart(restarts, clock.monotonic(), limit);
      restarts = restartsMs;
      return isAllowed;
    },
  };
}

test('allows three restarts in a minute and refuses the fourth, until the first is a minute old', () => {
  const clock = createManualClock();
  const intensity = createIntensity({ maxRestarts: 3, windowMs: 60_000 }, clock);
  assert.equal(intensity.record(), true);
  clock.advance(30_000);
  assert.deepEqual(
    [intensity.record(), intensity.record(), intensity.record()],
    [true, true, false],
  );
  clock.advance(30_001);
  assert.equal(intensity.record(), false, 'the refused one counts as well');
  clock.advance(60_001);
  assert.equal(intensity.record(), true);
});

test('allows no restart if the limit is 0', () => {
  const intensity = createIntensity({ maxRestarts: 0, windowMs: 1_000 }, createManualClock());
  assert.deepEqual([intensity.record(), intensity.record()], [false, false]);
});

test('doubles the delay up to its maximum, and reduces it by a random jitter', () => {
  const options = { firstMs: 500, maxMs: 30_000, jitter: 0.5 };
  const delays = (random: number) =>
    [0, 1, 2, 3, 6, 7, 8, 2000].map(failures => backoffMs(options, failures, () => random));
  assert.deepEqual(delays(0), [500, 500, 1_000, 2_000, 16_000, 30_000, 30_000, 30_000]);
  assert.deepEqual(delays(1), [250, 250, 500, 1_000, 8_000, 15_000, 15_000, 15_000]);
});
