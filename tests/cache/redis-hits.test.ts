import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { describeWithEngine } from '#helpers/engine';
import { describeWithRedis, startRedis } from '#helpers/redis';
import { createRedisHits } from '../../hub/cache/redis-hits.ts';
import { counts, forLong, heldFill, isHit, isThere, keep, never, wide } from './contract.ts';
import { type Hub, becomes, newPrefix, startHub } from './redis-hub.ts';

const hitMs = 5_000;
const hourMs = 3_600_000;

/** Hits whose Redis keeps one value for an hour, and tells the time that it is set to. */
function openHits() {
  const clock = createManualClock();
  const redis = {
    asked: [] as string[],
    timeMs: hourMs,
    kept: '',
    isAway: false,
    isTimeless: false,
  };
  let hits = 0;
  const hit = createRedisHits({
    clock,
    reach: {
      async read() {
        redis.asked.push('value');
        return redis.isAway ? undefined : redis.kept;
      },
      async time() {
        redis.asked.push('time');
        return redis.isAway || redis.isTimeless ? undefined : redis.timeMs + clock.monotonic();
      },
    },
    tally: { count: () => void hits++, use() {}, tellSoon() {} },
  });
  redis.kept = `${hourMs} ${2 * hourMs} of a`;
  return {
    clock,
    redis,
    find: (key: string) => hit.find(key),
    lost: () => hit.lost(),
    counted: () => hits,
  };
}

test('a hit asks for the time of Redis first, and then once a second', async () => {
  const { clock, redis, find } = openHits();
  for (let call = 0; call < 3; call++) assert.equal((await find('a'))?.value, 'of a');
  assert.deepEqual(redis.asked, ['time', 'value', 'value', 'value']);
  clock.advance(1_000);
  await find('a');
  assert.deepEqual(redis.asked.slice(4), ['time', 'value']);
});

test('a hit is as old as Redis says, and none from the end of its time on', async () => {
  const { clock, redis, find, counted } = openHits();
  redis.timeMs = 2 * hourMs - 100;
  assert.deepEqual(await find('a'), { value: 'of a', from: 'hit', ageMs: hourMs - 99 });
  clock.advance(99);
  assert.equal(await find('a'), undefined);
  assert.equal(counted(), 1);
});

test('a hit hears of a clock of Redis that was set', async () => {
  const { clock, redis, find } = openHits();
  assert.equal((await find('a'))?.value, 'of a');
  redis.timeMs += 2 * hourMs;
  clock.advance(1_000);
  assert.equal(await find('a'), undefined);
});

test('nothing is a hit while nobody tells the time, or on another connection', async () => {
  const { clock, redis, find, lost } = openHits();
  assert.equal((await find('a'))?.value, 'of a');
  clock.advance(10_000);
  redis.isAway = true;
  assert.equal(await find('a'), undefined);
  redis.isAway = false;
  redis.isTimeless = true;
  assert.equal(await find('a'), undefined);
  redis.isTimeless = false;
  assert.equal((await find('a'))?.value, 'of a');
  redis.timeMs += 2 * hourMs;
  lost();
  assert.equal(await find('a'), undefined);
});

test('what another program has put there is no hit', async () => {
  const { redis, find, counted } = openHits();
  for (const kept of ['', ' ', 'of a', `${hourMs}`, `x ${2 * hourMs} of a`, `${hourMs} x of a`]) {
    redis.kept = kept;
    assert.equal(await find('a'), undefined, kept);
  }
  assert.equal(counted(), 0);
});

test('what was kept later than now is none, unless two clocks are but a moment apart', async () => {
  const { redis, find } = openHits();
  redis.kept = `${hourMs + 500} ${2 * hourMs} of a`;
  assert.deepEqual(await find('a'), { value: 'of a', from: 'hit', ageMs: 0 });
  redis.kept = `${hourMs + 5_000} ${2 * hourMs} of a`;
  assert.equal(await find('a'), undefined);
});

test('what has another shape than the scripts give it is no hit', async () => {
  const { redis, find, counted } = openHits();
  for (const kept of [
    '1e3 1e300 {"x":1}',
    '1 Infinity x',
    `0x1 ${2 * hourMs} x`,
    `1  ${hourMs}9 x`,
  ]) {
    redis.kept = kept;
    assert.equal(await find('a'), undefined, kept);
  }
  assert.equal(counted(), 0);
});

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

  test('are uses in their order, among those of calls that fill', async () => {
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

  test('are uses before they are answered, also for a fill that is at its end', async () => {
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

  test('of two hubs at the same time are all counted, and once', async () => {
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

  test('are told to the others before anybody asks', async () => {
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

  test('are none of what another hub has forgotten', async () => {
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
  test('that dies under them are misses, and none of them fails or waits', async () => {
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

  test('that is full are given and counted, though their order is not kept', async () => {
    await using redis = await startRedis('--maxmemory', '4mb', '--maxmemory-policy', 'noeviction');
    await using hub = await startHub({ url: redis.url });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'a');
    const { Redis } = await import('ioredis');
    const operator = new Redis(redis.url);
    for (const size of [100_000, 100])
      for (let index = 0, isFull = false; !isFull; index++)
        isFull = await operator.set(`${size} ${index}`, 'x'.repeat(size)).then(
          () => false,
          () => true,
        );
    for (let call = 0; call < 10; call++) assert.equal((await hub.cache.hit('a'))?.value, 'a');
    assert.equal((await hub.cache.stats()).hits, 10);
    await operator.flushall();
    operator.disconnect();
    await counts(hub.cache, { hits: 10, entries: 0, errors: 0 });
  });
});
