import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createPace, systemClock } from '#core';

test('a thread rests after 0.1 ms of work, for half as long as it has worked', () => {
  let now = 5;
  const rests: number[] = [];
  const pace = createPace({ monotonic: () => now }, ms => {
    rests.push(ms);
    now += ms;
  });
  for (const piece of [0.0625, 0.0625, 0.0625, 0.0625, 0.25]) {
    now += piece;
    pace();
  }
  assert.deepEqual(rests, [0.0625, 0.0625, 0.125]);
});

test('a thread that was not scheduled for long does not rest in proportion', () => {
  let now = 0;
  const rests: number[] = [];
  const pace = createPace({ monotonic: () => now }, ms => rests.push(ms));
  now += 40;
  pace();
  assert.deepEqual(rests, [0.5]);
});

test('a rest blocks for its time', () => {
  const pace = createPace();
  const until = systemClock.monotonic() + 1;
  while (systemClock.monotonic() < until);
  const begun = systemClock.monotonic();
  pace();
  assert.ok(systemClock.monotonic() - begun >= 0.5);
});
