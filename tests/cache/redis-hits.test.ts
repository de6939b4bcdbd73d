import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'vitest';
import { describeWithEngine } from '#helpers/engine';
import { describeWithRedis, startRedis } from '#helpers/redis';
import { counts, forLong, heldFill, isHit, isThere, keep, never, wide } from './contract.ts';
import { type Hub, becomes, newPrefix, startHub } from './redis-hub.ts';

const hitMs = 5_000;

describeWithRedis('hits in a real Redis', url => {
  async function openTwo(maxEntries = wide.maxEntries) {
    const hubs = new AsyncDisposableStack();
    const place = { url: url(), prefix: newPrefix(), maxEntries };
    const [one, other] = [hubs.use(await startHub(place)), hubs.use(await startHub(place))];
    await becomes('up', one, other);
    return { one, other, [Symbol.asyncDispose]: () => hubs.disposeAsync() };
  }

  const isFound = async ({ cache }: Hub, key: string) =>
    assert.equal((await cache.hit(key))?.value, key);

  test('count as uses in their order, among those of calls that fill', async () => {
    await using hubs = await openTwo(3);
    const { cache } = hubs.one;
    for (const key of ['a', 'b', 'c']) await keep(cache, key, key);
    await isFound(hubs.one, 'b');
    await isFound(hubs.one, 'a');
    await isHit(cache, 'c', 'c');
    await isFound(hubs.one, 'b');
    for (const [fresh, gone] of [
      ['d', 'a'],
      ['e', 'c'],
      ['f', 'b'],
    ] as const) {
      await keep(cache, fresh, fresh);
      assert.equal(await isThere(cache, gone), false, gone);
    }
    await counts(cache, { entries: 3, evictions: 3, hits: 4 });
  });

  test('count as uses before they are answered, also for a fill that is about to end', async () => {
    await using hubs = await openTwo(2);
    const { cache } = hubs.one;
    for (const key of ['a', 'b']) await keep(cache, key, key);
    const held = heldFill();
    const filling = cache.getOrFill('c', forLong, held.fill, never);
    await held.begun();
    const found = isFound(hubs.one, 'a');
    held.letGo();
    await Promise.all([found, filling]);
    assert.deepEqual([await isThere(cache, 'a'), await isThere(cache, 'b')], [true, false]);
  });

  test('of two hubs at the same time are all counted, once each', async () => {
    await using hubs = await openTwo();
    const { one, other } = hubs;
    const keys = Array.from({ length: 600 }, (_, index) => `${index}`);
    await Promise.all(keys.map(key => keep(one.cache, key, key)));
    for (const hub of [one, other])
      await Promise.all([...keys, ...keys].map(key => isFound(hub, key)));
    await Promise.all([one, other, one].flatMap(hub => keys.map(key => isFound(hub, key))));
    const expected = { hits: 7 * keys.length, misses: keys.length, errors: 0 };
    await counts(one.cache, expected);
    await counts(other.cache, expected);
  });

  test('are sent to the other hubs without a request', async () => {
    await using hubs = await openTwo();
    await keep(hubs.one.cache, 'a', 'a');
    await isFound(hubs.one, 'a');
    await counts(hubs.other.cache, { hits: 1 });
  });

  test('that are found while their hub stops are counted', async () => {
    await using hubs = await openTwo();
    const { one, other } = hubs;
    await keep(one.cache, 'a', 'a');
    const calls = Array.from({ length: 500 }, () => isFound(one, 'a'));
    await Promise.all([one.cache.stop(), ...calls]);
    await counts(other.cache, { hits: 500 });
  });

  test('do not find an entry that another hub has forgotten', async () => {
    await using hubs = await openTwo();
    const { one, other } = hubs;
    await keep(one.cache, 'a', 'a');
    await isFound(one, 'a');
    await other.cache.forget('editor');
    assert.equal(await one.cache.hit('a'), undefined);
    await counts(one.cache, { entries: 0, bytes: 0, hits: 1 });
  });
});

describeWithEngine('hits in a Redis of their own', () => {
  test('that is killed meanwhile are misses, and none of them fails or waits', async () => {
    await using redis = await startRedis();
    await using hub = await startHub({ url: redis.url, reachMs: 300 });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'a');
    const since = performance.now();
    const killed = redis.kill().then(() => becomes('down', hub));
    let isDead = false;
    void killed.then(() => (isDead = true));
    let found = 0;
    while (!isDead) {
      const all = await Promise.all(
        Array.from({ length: 20 }, async () => await hub.cache.hit('a')),
      );
      found += all.filter(one => one?.value === 'a').length;
      await nextTurn();
    }
    await killed;
    assert.ok(found > 0, 'none was found before');
    assert.equal(await hub.cache.hit('a'), undefined);
    assert.ok(performance.now() - since < hitMs, 'they waited');
    await redis.start();
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'again');
    assert.equal((await hub.cache.hit('a'))?.value, 'again');
  });

  test('that is full are returned and counted, but do not change the order of use', async () => {
    await using redis = await startRedis('--maxmemory-policy', 'noeviction');
    await using hub = await startHub({ url: redis.url });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'a');
    const { Redis } = await import('ioredis');
    const operator = new Redis(redis.url);
    // A limit of one byte, because a Redis that was filled with data has room again when a connection frees its buffer.
    await operator.config('SET', 'maxmemory', '1');
    await assert.rejects(operator.set('b', 'b'), /OOM/);
    for (let call = 0; call < 10; call++) assert.equal((await hub.cache.hit('a'))?.value, 'a');
    assert.equal((await hub.cache.stats()).hits, 10);
    await operator.flushall();
    await operator.config('SET', 'maxmemory', '0');
    operator.disconnect();
    await counts(hub.cache, { hits: 10, entries: 0, errors: 0 });
  });
});
