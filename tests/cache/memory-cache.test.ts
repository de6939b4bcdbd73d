import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createMemoryCache } from '#cache';
import { createManualClock } from '#helpers/clock';
import { cacheContract, forLong, keep, never, wide } from './contract.ts';

cacheContract({
  name: 'in memory',
  isShared: false,
  async place() {
    const clock = createManualClock();
    return {
      cache: async (bounds = wide) => createMemoryCache(bounds, { clock }),
      outlive: async ms => clock.advance(ms),
      [Symbol.asyncDispose]: async () => {},
    };
  },
});

test('a hit in memory starts no timer, calls no fill, and is there in the same turn', async () => {
  const clock = createManualClock();
  const cache = createMemoryCache(wide, { clock });
  await keep(cache, 'a', 'one');
  let isThere = false;
  const found = cache.getOrFill('a', forLong, () => assert.fail('filled'), never);
  void found.then(() => (isThere = true));
  // Waits for one microtask: a hit in memory must not take longer.
  await Promise.resolve();
  assert.ok(isThere);
  assert.equal(clock.waiting, 0);
});

test('an entry in memory has the age that the clock says', async () => {
  const clock = createManualClock();
  const cache = createMemoryCache(wide, { clock });
  await keep(cache, 'a', 'one');
  clock.advance(1_234);
  assert.deepEqual(await cache.peek('a'), { value: 'one', ageMs: 1_234 });
  clock.advance(forLong.ttlMs - 1_235);
  assert.equal((await cache.peek('a'))?.ageMs, forLong.ttlMs - 1);
  clock.advance(1);
  assert.equal(await cache.peek('a'), undefined);
});
