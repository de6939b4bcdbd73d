import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, test } from 'vitest';
import type { ExactCache } from '#cache';
import { silent, systemClock } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { type RedisServer, startRedis } from '#helpers/redis';
import { createRedisCache } from '../../hub/cache/redis-cache.ts';
import { until } from '../contracts/recorder.ts';
import {
  counts,
  forLong,
  giving,
  heldFill,
  isHit,
  isThere,
  keep,
  never,
  wide,
} from './contract.ts';
import { becomes, newPrefix, pollMs, startHub } from './redis-hub.ts';
import { openSlowLine } from './slow-line.ts';

/**
 * Timeout of Redis, long enough for a busy machine, and the tolerance of measured times, in ms. Both are below the
 * other waits of the tests.
 */
const [reachMs, busyMs] = [300, 500];
/** Maximum time to live. */
const yearMs = 31_536_000_000;

/** Returns how long a call with an instant fill takes, in ms. The cache must not contain the key. */
async function missMs(cache: ExactCache, key: string): Promise<number> {
  const since = performance.now();
  const { from } = await cache.getOrFill(key, forLong, giving('filled'), never);
  assert.equal(from, 'filled');
  return performance.now() - since;
}

/** Fails unless a hundred calls in sequence complete without waiting. */
async function isAtOnce(cache: ExactCache): Promise<void> {
  const since = performance.now();
  for (let call = 0; call < 100; call++) await missMs(cache, `away ${call}`);
  const tookMs = performance.now() - since;
  assert.ok(tookMs < 2 * busyMs, `100 misses took ${tookMs.toFixed(0)} ms`);
}

async function errorOf(cache: ExactCache): Promise<string> {
  return (await cache.stats()).status.error ?? '';
}

/** Waits until the cache finds a value, and reports no error. */
async function isFound(cache: ExactCache, key: string): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await isThere(cache, key)) || (await errorOf(cache)) !== '') {
    assert.ok(performance.now() < deadline, `${key} is not found`);
    await delay(pollMs);
  }
}

describeWithEngine('exact caches of two hubs', () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis?.[Symbol.asyncDispose]());

  /** Returns the Redis key of a value, for a cache that has already had an entry. */
  async function valueName(prefix: string, key: string): Promise<string> {
    const epoch = await redis.cli('hget', `${prefix}3:counters`, 'epoch');
    return `${prefix}3:value:${epoch}:${key}`;
  }

  /** Runs a test without Redis, and starts Redis again even if that fails, as other tests need it. */
  async function withoutRedis<T>(run: () => Promise<T>): Promise<T> {
    await redis.kill();
    try {
      return await run();
    } finally {
      await redis.start();
    }
  }

  test('miss at once while Redis is down, and are shared again when it is back', async () => {
    const place = { url: redis.url, prefix: newPrefix() };
    await using one = await startHub(place);
    await using other = await startHub(place);
    await becomes('up', one, other);
    await keep(one.cache, 'a', 'before');
    await counts(one.cache, { misses: 1 });
    await withoutRedis(async () => {
      await becomes('down', one, other);
      await isAtOnce(one.cache);
      await assert.rejects(
        one.cache.peek('a'),
        ({ code, message }) =>
          code === 'HUB_CACHE_UNREACHABLE' && /not known whether .*Redis did not/.test(message),
      );
      assert.match(await errorOf(one.cache), /the connection to [\d.:]+ was lost|ECONN/);
      assert.equal((await one.cache.stats()).misses, 101);
    });
    await becomes('up', one, other);
    await keep(one.cache, 'a', 'after');
    await isHit(other.cache, 'a', 'after');
    assert.deepEqual(
      one.log.map(line => line.split(' ', 1)[0]),
      ['info', 'warn', 'info'],
      'one line for each change, none for each attempt',
    );
    await counts(other.cache, { misses: 101, hits: 1 });
  });

  test('start without Redis, and miss at once until it is there', async () => {
    await using late = new AsyncDisposableStack();
    const hub = await withoutRedis(async () => {
      const since = performance.now();
      const started = late.use(await startHub({ url: redis.url }));
      assert.ok(performance.now() - since < busyMs, 'the start waits for Redis');
      await isAtOnce(started.cache);
      return started;
    });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'one');
    await isHit(hub.cache, 'a', 'one');
  });

  test('lose no value when Redis is killed while they fill', async () => {
    await using hub = await startHub({ url: redis.url });
    await becomes('up', hub);
    const held = heldFill();
    const filling = hub.cache.getOrFill('a', forLong, held.fill, never);
    await held.begun();
    await withoutRedis(async () => {
      await becomes('down', hub);
      const since = performance.now();
      held.letGo();
      assert.equal((await filling).value, 'filled');
      assert.ok(performance.now() - since < busyMs, 'what is filled waits for Redis');
    });
  });

  test('wait for a frozen Redis only once, and use it when it is thawed', async () => {
    await using hub = await startHub({ url: redis.url, reachMs, answerMs: 3_000 });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'one');
    await redis.freeze();
    try {
      const tookMs = await missMs(hub.cache, 'a');
      assert.ok(tookMs > reachMs - 2 && tookMs < reachMs + busyMs, `it waited ${tookMs} ms`);
      await isAtOnce(hub.cache);
      assert.match(await errorOf(hub.cache), /did not answer within 300 ms/);
      await becomes('down', hub);
      assert.match(await errorOf(hub.cache), /did not answer within 3000 ms/);
      await isAtOnce(hub.cache);
    } finally {
      await redis.thaw();
    }
    await becomes('up', hub);
    await isHit(hub.cache, 'a', 'one');
  });

  test('wait 25 ms by default', async () => {
    const { url } = redis;
    const options = { ...wide, url, prefix: newPrefix() };
    const needs = { clock: systemClock, log: silent, random: () => 0 };
    const cache = createRedisCache(options, needs);
    await using hub = { cache, log: [], [Symbol.asyncDispose]: () => cache.stop() };
    await cache.start(never);
    await becomes('up', hub);
    await redis.freeze();
    try {
      await missMs(cache, 'a');
      assert.match(await errorOf(cache), /did not answer within 25 ms/);
    } finally {
      await redis.thaw();
    }
  });

  test('keep a fill that ends after a late answer of Redis that no other hub is filling', async () => {
    await using hub = await startHub({ url: redis.url, reachMs });
    await becomes('up', hub);
    await keep(hub.cache, 'before', 'one');
    const held = heldFill();
    await redis.freeze();
    const filling = hub.cache.getOrFill('a', forLong, held.fill, never);
    await held.begun();
    await redis.thaw();
    await isFound(hub.cache, 'before');
    held.letGo();
    assert.equal((await filling).from, 'filled');
    await isFound(hub.cache, 'a');
    await isHit(hub.cache, 'a', 'filled');
  });

  test('wait for a slow connection only once, and use it when it is fast', async () => {
    await using line = await openSlowLine(redis.url);
    await using hub = await startHub({ url: line.url, reachMs });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'one');
    line.delayMs = 200;
    const tookMs = await missMs(hub.cache, 'a');
    assert.ok(tookMs < reachMs + busyMs, `it waited ${tookMs} ms`);
    const since = performance.now();
    await until(() => {
      void hub.cache.getOrFill('slow', forLong, giving('filled', false), never);
      return performance.now() - since > 2_000;
    }, 'time to go by');
    const { status, errors } = await hub.cache.stats();
    assert.equal(errors, 1, 'more calls than one have waited');
    assert.equal(status.kind, 'up', 'late is not away');
    assert.match(status.error ?? '', /did not answer within/);
    assert.equal((await hub.cache.peek('a'))?.value, 'one', 'no call waits for what is looked at');
    line.delayMs = 0;
    await isFound(hub.cache, 'a');
    await isHit(hub.cache, 'a', 'one');
  });

  test('do not count a busy event loop as a slow Redis', async () => {
    await using hub = await startHub({ url: redis.url, reachMs: 100 });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'one');
    for (let round = 0; round < 5; round++) {
      const call = hub.cache.getOrFill('a', forLong, giving('again'), never);
      const until = performance.now() + 400;
      while (performance.now() < until);
      assert.equal((await call).from, 'hit');
    }
    await counts(hub.cache, { errors: 0 });
  });

  test('miss when Redis is flushed, and stay within their bounds afterwards', async () => {
    const place = { url: redis.url, prefix: newPrefix(), maxEntries: 3 };
    await using one = await startHub(place);
    await using other = await startHub(place);
    await becomes('up', one, other);
    for (const key of ['a', 'b', 'c']) await keep(one.cache, key, 'before');
    const held = heldFill();
    const filling = one.cache.getOrFill('d', forLong, held.fill, never);
    await held.begun();
    await redis.cli('flushall');
    held.letGo();
    assert.equal((await filling).value, 'filled');
    await counts(one.cache, { entries: 0, bytes: 0 });
    for (const key of ['a', 'b', 'c', 'd']) await keep(other.cache, key, 'after');
    await counts(one.cache, { entries: 3, bytes: 18 });
    assert.equal(await isThere(one.cache, 'a'), false);
    await redis.cli('script', 'flush');
    await isHit(one.cache, 'd', 'after');
  });

  for (const part of ['value', 'facts', 'recency', 'expiry', 'counters'])
    test(`stay within their bounds when Redis evicts their ${part}`, async () => {
      const place = { url: redis.url, prefix: newPrefix(), maxEntries: 3 };
      await using hub = await startHub({ ...place });
      await becomes('up', hub);
      const keys = ['a', 'b', 'c'];
      for (const key of keys) await keep(hub.cache, key, 'before');
      const held = heldFill();
      const filling = hub.cache.getOrFill('d', forLong, held.fill, never);
      await held.begun();
      const [name = ''] = (await redis.cli('keys', `${place.prefix}3:${part}*`)).split('\n');
      assert.equal(await redis.cli('del', name), '1');
      held.letGo();
      assert.equal((await filling).value, 'filled');
      for (const key of [...keys, 'd'])
        await hub.cache.getOrFill(key, forLong, giving('after'), never);
      const stats = await hub.cache.stats();
      const there = await Promise.all([...keys, 'd'].map(key => hub.cache.peek(key)));
      const bytes = there.reduce((sum, kept) => sum + (kept ? 1 + kept.value.length : 0), 0);
      assert.equal(stats.bytes, bytes);
      assert.equal(stats.entries, 3);
      assert.equal(there.filter(Boolean).length, 3);
      assert.equal(await hub.cache.forget(), 3);
    });

  test('leave no key without a TTL in Redis', async () => {
    const place = { url: redis.url, prefix: newPrefix() };
    await using hub = await startHub(place);
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'one');
    await isHit(hub.cache, 'a', 'one');
    await keep(hub.cache, 'b', 'two', { ...forLong, ttlMs: 1_000 });
    await hub.cache.forget('another');
    await keep(hub.cache, 'c', 'three', { ...forLong, ttlMs: 1e15 });
    const names = (await redis.cli('keys', `${place.prefix}*`)).split('\n');
    assert.equal(names.length, 8);
    for (const name of names) {
      const leftMs = Number(await redis.cli('pttl', name));
      // Values and records of removals expire by themselves; the index expires not before the last value.
      const leastMs = /:(?:value|forgot):/.test(name) ? 0 : yearMs - 60_000;
      const isBetween = leftMs > leastMs && leftMs <= yearMs + 1_000;
      assert.ok(isBetween || leftMs === -2, `${name} ends in ${leftMs} ms`);
    }
  });

  test('retry a forget that Redis did not receive, and do not find the entries meanwhile', async () => {
    await using line = await openSlowLine(redis.url);
    const prefix = newPrefix();
    await using one = await startHub({ url: line.url, prefix, answerMs: 200 });
    await using other = await startHub({ url: redis.url, prefix });
    await becomes('up', one, other);
    await keep(one.cache, 'a', 'stale');
    await keep(one.cache, 'b', 'another', { ...forLong, tag: 'other' });
    line.delayMs = 60_000;
    assert.equal(await one.cache.forget('editor'), 0);
    await becomes('down', one);
    await isHit(other.cache, 'a', 'stale');
    line.delayMs = 0;
    await becomes('up', one);
    await isFound(one.cache, 'b');
    assert.equal(await isThere(one.cache, 'a'), false);
    assert.equal(await isThere(other.cache, 'a'), false);
    await isHit(other.cache, 'b', 'another');
  });

  test('retry a forget that Redis refused, as soon as Redis accepts writes', async () => {
    await using hub = await startHub({ url: redis.url });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'stale');
    await redis.cli('config', 'set', 'min-replicas-to-write', '1');
    try {
      assert.equal(await hub.cache.forget('editor'), 0);
      assert.deepEqual(
        [hub.cache.isForgetPending?.('editor'), hub.cache.isForgetPending?.('other')],
        [true, false],
      );
      assert.match(await errorOf(hub.cache), /NOREPLICAS/);
    } finally {
      await redis.cli('config', 'set', 'min-replicas-to-write', '0');
    }
    await until(
      () => hub.cache.isForgetPending?.('editor') === false,
      'what is owed to be forgotten',
    );
    await keep(hub.cache, 'a', 'fresh');
    await isHit(hub.cache, 'a', 'fresh');
  });

  test('refill an entry whose time of writing is in the future of Redis', async () => {
    const place = { url: redis.url, prefix: newPrefix() };
    await using hub = await startHub(place);
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'of later');
    const later = Date.now() + 3_600_000;
    await redis.cli('set', await valueName(place.prefix, 'a'), `${later} ${2 * later} of later`);
    assert.equal(await isThere(hub.cache, 'a'), false);
    assert.equal(await hub.cache.hit('a'), undefined);
    await keep(hub.cache, 'a', 'of now');
    await isHit(hub.cache, 'a', 'of now');
  });

  test('refill an entry that is not readable, and evict nothing else', async () => {
    const place = { url: redis.url, prefix: newPrefix() };
    await using hub = await startHub(place);
    await becomes('up', hub);
    await keep(hub.cache, 'b', 'another');
    await redis.cli('set', await valueName(place.prefix, 'a'), '1 99999999999999 null');
    const readable = { ...forLong, isReadable: (value: string) => value !== 'null' };
    const found = await hub.cache.getOrFill('a', readable, giving('fresh'), never);
    assert.deepEqual([found.value, found.from], ['fresh', 'filled']);
    await isHit(hub.cache, 'a', 'fresh');
    await isHit(hub.cache, 'b', 'another');
    await counts(hub.cache, { entries: 2 });
  });

  test('remove the cache of an earlier layout, and log it', async () => {
    const place = { url: redis.url, prefix: newPrefix() };
    const key = 'e46de6c22a33fec7c90a16d65b5947e4295abdf03f8ba52afa42c6a55e2c63a7';
    const [now, later] = [Date.now(), Date.now() + 600_000];
    // Keys as a hub with the previous layout writes them.
    for (const [command = '', name = '', ...fields] of [
      ['hset', 'values', key, `${now} ${later} {"kind":"none","reason":"none","attempts":[]}`],
      ['hset', 'facts', key, `100 ${later} "editor"`],
      ['zadd', 'recency', '2', key],
      ['zadd', 'expiry', `${later}`, key],
      ['zadd', 'tags', '0', `"editor"${key}`],
      ['hset', 'locks', 'other', `token ${later} "editor"`],
      ['hset', 'counters', 'order', '2', 'bytes', '100', 'misses', '1'],
    ])
      await redis.cli(command, `${place.prefix}2:${name}`, ...fields);
    assert.equal((await redis.cli('keys', `${place.prefix}2:*`)).split('\n').length, 7);
    const isRemoval = (line: string) =>
      line.includes('removed the exact cache of an older version');
    {
      await using hub = await startHub(place);
      await until(() => hub.log.some(isRemoval), 'the removal');
      assert.equal(await hub.cache.hit(key), undefined);
      await counts(hub.cache, { entries: 0, bytes: 0, misses: 0, errors: 0 });
      assert.equal(await redis.cli('keys', `${place.prefix}2:*`), '');
      await keep(hub.cache, key, 'fresh');
      await redis.cli('client', 'kill', 'type', 'pubsub');
      await becomes('down', hub);
      await becomes('up', hub);
      await isHit(hub.cache, key, 'fresh');
      assert.equal(hub.log.filter(isRemoval).length, 1);
    }
    await using next = await startHub(place);
    await becomes('up', next);
    await isHit(next.cache, key, 'fresh');
    assert.equal(next.log.filter(isRemoval).length, 0);
  });

  test('ignore messages of other programs on their channel', async () => {
    const place = { url: redis.url, prefix: newPrefix() };
    await using hub = await startHub(place);
    await becomes('up', hub);
    const held = heldFill();
    const filling = hub.cache.getOrFill('a', forLong, held.fill, never);
    await held.begun();
    for (const message of ['', '{', 'null', '[1]', '{"forgot":"{"}', '{"forgot":1}'])
      await redis.cli('publish', `${place.prefix}3:news`, message);
    held.letGo();
    assert.equal((await filling).from, 'filled');
    await isHit(hub.cache, 'a', 'filled');
  });
});

describeWithEngine('an exact cache in a Redis of its own', () => {
  test('that is full misses for new values and still returns the kept ones, until there is room', async () => {
    await using redis = await startRedis('--maxmemory', '8mb', '--maxmemory-policy', 'noeviction');
    await using hub = await startHub({ url: redis.url });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'one');
    const { Redis } = await import('ioredis');
    const operator = new Redis(redis.url);
    const held = heldFill();
    const filling = hub.cache.getOrFill('b', forLong, held.fill, never);
    await held.begun();
    let keys = 0;
    const fillUp = async (bytes: number) => {
      for (let isFull = false; !isFull; keys++)
        isFull = await operator.set(`${keys}`, 'x'.repeat(bytes)).then(
          () => false,
          () => true,
        );
    };
    await fillUp(200_000);
    await fillUp(1);
    held.letGo();
    assert.equal((await filling).value, 'filled');
    assert.equal(await isThere(hub.cache, 'b'), false);
    await isHit(hub.cache, 'a', 'one');
    // Redis may free a few buffers meanwhile, and then still performs writes that need no more memory.
    for (let error = '', attempt = 0; !error.includes('OOM'); error = await errorOf(hub.cache)) {
      assert.ok(attempt++ < 20, `the error is ${JSON.stringify(error)}`);
      await fillUp(1);
      await keep(hub.cache, 'c', 'not kept');
      assert.equal(await isThere(hub.cache, 'c'), false);
    }
    assert.equal((await hub.cache.stats()).entries, 1);
    for (const key of await operator.keys('*')) if (/^\d+$/.test(key)) await operator.del(key);
    operator.disconnect();
    await keep(hub.cache, 'c', 'kept');
    await isHit(hub.cache, 'c', 'kept');
    assert.equal(await errorOf(hub.cache), '');
    assert.equal(await hub.cache.forget(), 2);
  });

  test('that refuses writes is logged once with the remedy, and so is that it accepts them again', async () => {
    await using redis = await startRedis();
    await using hub = await startHub({ url: redis.url });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'one');
    const { host } = new URL(redis.url);
    for (const _ of ['first', 'second']) {
      await redis.cli('replicaof', '127.0.0.1', '1');
      for (const key of ['b', 'c']) await keep(hub.cache, key, 'not kept');
      await isHit(hub.cache, 'a', 'one');
      await redis.cli('replicaof', 'no', 'one');
      await keep(hub.cache, 'b', 'kept');
      await isHit(hub.cache, 'b', 'kept');
      assert.equal(await errorOf(hub.cache), '');
      await hub.cache.forget();
      await keep(hub.cache, 'a', 'one');
    }
    const refused = `warn Redis refuses commands of the exact cache ${JSON.stringify({
      reason: `${host}: READONLY You can't write against a read only replica. Set REDIS_URL to the primary, to which the hub can write`,
    })}`;
    const accepted = 'info Redis accepts the commands of the exact cache again {}';
    assert.deepEqual(hub.log.slice(1), [refused, accepted, refused, accepted]);
  });

  test('that is busy with a script has no error afterwards', async () => {
    await using redis = await startRedis('--busy-reply-threshold', '1000');
    await using hub = await startHub({ url: redis.url, reachMs });
    await becomes('up', hub);
    const endless = redis.cli('eval', 'while true do end', '0');
    const deadline = performance.now() + 15_000;
    for (let call = 0; !(await errorOf(hub.cache)).includes('BUSY'); call++) {
      assert.ok(performance.now() < deadline, 'Redis is not busy');
      await missMs(hub.cache, `busy ${call}`);
      await delay(busyMs);
    }
    // The cache probes Redis meanwhile, and each probe is refused.
    await delay(2 * busyMs);
    await redis.cli('script', 'kill');
    await endless;
    while (!(await isThere(hub.cache, 'a'))) {
      await keep(hub.cache, 'a', 'one');
      await delay(pollMs);
    }
    await isFound(hub.cache, 'a');
    assert.equal(hub.log.at(-1), 'info Redis accepts the commands of the exact cache again {}');
  });

  test('that becomes writable after the start has no error, without a write in between', async () => {
    await using redis = await startRedis();
    const place = { url: redis.url, prefix: newPrefix() };
    {
      await using before = await startHub(place);
      await becomes('up', before);
      await keep(before.cache, 'a', 'one');
    }
    await redis.cli('replicaof', '127.0.0.1', '1');
    await using hub = await startHub(place);
    await becomes('up', hub);
    await isFound(hub.cache, 'a');
    await redis.cli('replicaof', 'no', 'one');
    await isFound(hub.cache, 'a');
    assert.deepEqual(hub.log, ['info the exact cache is shared through Redis {}']);
  });

  test('that gets a password is logged with the remedy, and is used when that is gone', async () => {
    await using redis = await startRedis();
    await using hub = await startHub({ url: redis.url });
    await becomes('up', hub);
    await redis.cli('config', 'set', 'requirepass', 'secret-word');
    const asOwner = ['-a', 'secret-word', '--no-auth-warning'];
    await redis.cli(...asOwner, 'client', 'kill', 'type', 'pubsub');
    await until(() => hub.log.length > 2, 'the refusal');
    await isAtOnce(hub.cache);
    await redis.cli(...asOwner, 'config', 'set', 'requirepass', '');
    await becomes('up', hub);
    const [lost = '', refused = '', ...rest] = hub.log.slice(1);
    assert.match(lost, /^warn the exact cache is out of reach: Redis cannot be used .*was lost/);
    assert.match(
      refused,
      /^warn the exact cache is out of reach: Redis cannot be used .*NOAUTH.*Set its password in REDIS_URL/,
    );
    assert.deepEqual(rest, ['info the exact cache is shared through Redis {}']);
  });

  test('that is read-only misses', async () => {
    await using redis = await startRedis('--replicaof', '127.0.0.1', '1');
    await using hub = await startHub({ url: redis.url });
    await becomes('up', hub);
    await keep(hub.cache, 'a', 'one');
    assert.equal(await isThere(hub.cache, 'a'), false);
    assert.equal(await hub.cache.forget(), 0);
    assert.match(await errorOf(hub.cache), /READONLY|MASTERDOWN/);
  });

  test('with a password is used with the right one, and a wrong one is in no message', async () => {
    await using redis = await startRedis('--requirepass', 'correct-horse-battery');
    const withPassword = (word: string) => redis.url.replace('//', `//:${word}@`);
    await using right = await startHub({ url: withPassword('correct-horse-battery') });
    await becomes('up', right);
    await keep(right.cache, 'a', 'one');
    await using wrong = await startHub({ url: withPassword('wrong-horse') });
    await until(() => wrong.log.length > 0, 'the refusal');
    await isAtOnce(wrong.cache);
    const error = await errorOf(wrong.cache);
    assert.match(error, /WRONGPASS/);
    assert.doesNotMatch([...right.log, ...wrong.log, error].join('\n'), /horse/);
  });
});

test('at an address where nothing listens costs no more than a miss', async () => {
  await using hub = await startHub({ url: 'redis://agenthub:secret-word@127.0.0.1:1', ...wide });
  await until(() => hub.log.length > 0, 'a warning');
  await isAtOnce(hub.cache);
  assert.match(await errorOf(hub.cache), /127\.0\.0\.1:1: connect ECONNREFUSED/);
  assert.doesNotMatch(hub.log.join('\n'), /secret-word/);
  assert.equal(await hub.cache.forget(), 0);
});
