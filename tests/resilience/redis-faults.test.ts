import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, test } from 'vitest';
import { systemClock } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { type RedisServer, startRedis } from '#helpers/redis';
import { type RedisSharingOptions, type SharedBreaker, type Sharing } from '#resilience';
import { createRedisSharing } from '../../hub/resilience/redis-sharing.ts';
import { until } from '../contracts/recorder.ts';
import {
  becomes,
  breakServer,
  breakerOf,
  lateMs,
  newKey,
  soonMs,
  trialOf,
} from '../contracts/sharing.ts';

type Hub = AsyncDisposable & {
  readonly sharing: Sharing;
  /** Log lines, with their levels. */
  readonly log: readonly string[];
  /** Returns how often the hub has lost a connection, or failed to open one. */
  attempts(): number;
};

const password = 'correct-horse-battery';

/** Starts a hub that checks Redis more often than by default, so that tests wait less. */
async function startHub(url: string, options: Partial<RedisSharingOptions> = {}): Promise<Hub> {
  const log: string[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void log.push(`${level} ${message} ${JSON.stringify(fields)}`);
  let attempts = 0;
  const random = () => {
    attempts += 1;
    return 0;
  };
  const sharing = createRedisSharing(
    { url, syncMs: 100, answerMs: 300, maxRetryMs: 100, ...options },
    {
      clock: systemClock,
      log: { info: write('info'), warn: write('warn') },
      random,
      newId: () => randomUUID(),
    },
  );
  await sharing.start();
  return {
    sharing,
    log,
    attempts: () => attempts,
    [Symbol.asyncDispose]: () => sharing.stop(),
  };
}

async function isShared(...hubs: readonly Hub[]): Promise<void> {
  await until(() => hubs.every(({ sharing }) => sharing.status.kind === 'shared'), 'Redis');
}

async function isDegraded(...hubs: readonly Hub[]): Promise<void> {
  const degraded = () => hubs.every(({ sharing }) => sharing.status.kind === 'degraded');
  await until(degraded, 'the loss of Redis to be noticed');
}

/** Returns the reason why a hub shares nothing, as /health shows it. */
function reasonOf({ sharing }: Hub): string {
  return sharing.status.kind === 'degraded' ? sharing.status.reason : '';
}

function descriptors(): number {
  return readdirSync('/proc/self/fd').length;
}

function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  runInNewContext('gc')();
  return process.memoryUsage().heapUsed;
}

/** Returns how long a trial takes to be decided without Redis, in ms. */
async function timedTrial(breaker: SharedBreaker): Promise<number> {
  const since = performance.now();
  (await trialOf(breaker)).succeeded();
  return performance.now() - since;
}

describeWithEngine('breakers of two hubs', () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis?.[Symbol.asyncDispose]());

  test('continue alone when Redis is killed, and share again when it is back', async () => {
    await using one = await startHub(redis.url);
    await using other = await startHub(redis.url);
    const key = newKey();
    using a = breakerOf(one.sharing, key, lateMs);
    using b = breakerOf(other.sharing, key, lateMs);
    await isShared(one, other);
    await redis.kill();
    await isDegraded(one, other);
    breakServer(a);
    assert.equal(a.state, 'open');
    assert.equal(b.state, 'closed');
    assert.equal(b.admit().kind, 'permit');
    await redis.start();
    await isShared(one, other);
    await becomes(b, 'open');
    assert.deepEqual(
      one.log.map(line => line.split(' ', 1)[0]),
      ['info', 'warn', 'info'],
      'one line for each change, none for each attempt',
    );
    assert.match(one.log[1] ?? '', /the connection to [\d.:]+ was lost|ECONN/);
  });

  test('lose no state when Redis is restarted empty', async () => {
    await using one = await startHub(redis.url);
    const key = newKey();
    using a = breakerOf(one.sharing, key, lateMs);
    breakServer(a, 'before the restart');
    await isShared(one);
    await redis.kill();
    await redis.start();
    await isShared(one);
    await using late = await startHub(redis.url);
    using b = breakerOf(late.sharing, key, lateMs);
    await becomes(b, 'open');
    assert.equal(b.snapshot().why, 'before the restart');
  });

  test('agree on the later of two changes that were made while Redis was down', async () => {
    await using slow = await startHub(redis.url, { maxRetryMs: 2_000 });
    await using quick = await startHub(redis.url);
    const [first, second] = [newKey(), newKey()];
    using slowFirst = breakerOf(slow.sharing, first, soonMs);
    using quickFirst = breakerOf(quick.sharing, first, soonMs);
    using slowSecond = breakerOf(slow.sharing, second, soonMs);
    using quickSecond = breakerOf(quick.sharing, second, soonMs);
    breakServer(slowFirst);
    breakServer(slowSecond);
    const all = [slowFirst, quickFirst, slowSecond, quickSecond];
    await Promise.all(all.map(breaker => becomes(breaker, 'half_open')));
    await redis.kill();
    await isDegraded(slow, quick);
    (await trialOf(quickFirst)).failed('the earlier');
    (await trialOf(slowSecond)).failed('the earlier');
    // The decisions must be further apart than the latency of a message, and one hub must wait a second to reconnect.
    await until(() => slow.attempts() >= 6, 'long waits between attempts');
    (await trialOf(slowFirst)).succeeded();
    (await trialOf(quickSecond)).succeeded();
    await redis.start();
    await isShared(quick);
    assert.equal(slow.sharing.status.kind, 'degraded', 'this one comes second');
    await isShared(slow);
    await until(() => all.every(({ state }) => state === 'closed'), 'the later decisions');
  });

  test('compare an unsent change with a received one by its age', async () => {
    const all = ['on', '>mute', '~*', '&*', '+@all'];
    await redis.cli('acl', 'setuser', 'mute', ...all, '-eval', '-evalsha');
    await using mute = await startHub(redis.url.replace('//', '//mute:mute@'), { startMs: 10 });
    await until(() => /NOPERM/.test(reasonOf(mute)), 'the refusal');
    const key = newKey();
    using breaker = breakerOf(mute.sharing, key, lateMs);
    breakServer(breaker);
    const earlier = String((Date.now() - 10_000) * 1_000);
    const said = JSON.stringify([key, earlier, 'closed', '0', '0', '']);
    assert.equal(await redis.cli('publish', 'agenthub:breaker:decided', said), '1');
    await redis.cli('acl', 'setuser', 'mute', '+eval', '+evalsha');
    await isShared(mute);
    assert.equal(breaker.state, 'open');
    assert.equal(await redis.cli('hget', `agenthub:breaker:state:${key}`, 'state'), 'open');
  });

  test('restore flushed state, so that a hub that starts finds it', async () => {
    await using one = await startHub(redis.url);
    await using other = await startHub(redis.url);
    const key = newKey();
    using a = breakerOf(one.sharing, key, lateMs);
    using b = breakerOf(other.sharing, key, lateMs);
    breakServer(a, 'before the flush');
    await becomes(b, 'open');
    await redis.cli('flushall');
    await using late = await startHub(redis.url);
    using c = breakerOf(late.sharing, key, lateMs);
    await becomes(c, 'open');
    assert.equal(c.snapshot().why, 'before the flush');
    a.reset();
    await Promise.all([becomes(b, 'closed'), becomes(c, 'closed')]);
  });

  test('receive a missed change at the next heartbeat', async () => {
    await using one = await startHub(redis.url);
    await using other = await startHub(redis.url);
    const key = newKey();
    using a = breakerOf(one.sharing, key, lateMs);
    using b = breakerOf(other.sharing, key, lateMs);
    await isShared(one, other);
    // Changes the state without a message, as if the message had been lost.
    const state = `agenthub:breaker:state:${key}`;
    const later = String(Date.now() * 1_000);
    const due = String((Date.now() + lateMs) * 1_000);
    const known = [
      'epoch',
      later,
      'state',
      'open',
      'until',
      due,
      'failures',
      '3',
      'why',
      'not told',
    ];
    await redis.cli('hset', state, ...known);
    await Promise.all([becomes(a, 'open'), becomes(b, 'open')]);
  });

  test('decide a trial alone when Redis is frozen, after a short wait', async () => {
    await using one = await startHub(redis.url);
    await using other = await startHub(redis.url);
    const key = newKey();
    using a = breakerOf(one.sharing, key, soonMs);
    using b = breakerOf(other.sharing, key, soonMs);
    breakServer(a);
    await Promise.all([becomes(a, 'half_open'), becomes(b, 'half_open')]);
    await redis.freeze();
    try {
      const tookMs = await timedTrial(a);
      assert.ok(tookMs < 250, `the trial waited ${tookMs.toFixed(0)} ms`);
      assert.equal(a.state, 'closed');
      await isDegraded(one, other);
      assert.match(reasonOf(one), /did not answer within 300 ms/);
      for (let call = 0; call < 1_000; call++) assert.equal(a.admit().kind, 'permit');
    } finally {
      await redis.thaw();
    }
    await isShared(one, other);
    await becomes(b, 'closed');
  });

  test('decide a trial alone while Redis answers late', async () => {
    await using one = await startHub(redis.url, { answerMs: 2_000 });
    await using other = await startHub(redis.url, { answerMs: 2_000 });
    const key = newKey();
    using a = breakerOf(one.sharing, key, soonMs);
    using b = breakerOf(other.sharing, key, soonMs);
    breakServer(a);
    await Promise.all([becomes(a, 'half_open'), becomes(b, 'half_open')]);
    await redis.cli('client', 'pause', '800', 'all');
    const tookMs = await timedTrial(a);
    assert.ok(tookMs < 250, `the trial waited ${tookMs.toFixed(0)} ms`);
    await becomes(b, 'closed');
    assert.equal(one.sharing.status.kind, 'shared', 'late is not away');
  });

  test('share a trial again after Redis was frozen, without the earlier lock', async () => {
    await using one = await startHub(redis.url);
    await using other = await startHub(redis.url);
    const key = newKey();
    using a = breakerOf(one.sharing, key, soonMs);
    using b = breakerOf(other.sharing, key, soonMs);
    breakServer(a);
    await Promise.all([becomes(a, 'half_open'), becomes(b, 'half_open')]);
    await redis.freeze();
    (await trialOf(a)).failed('frozen');
    await isDegraded(one, other);
    await redis.thaw();
    await isShared(one, other);
    await until(() => b.snapshot().why === 'frozen', 'the outcome');
    await Promise.all([becomes(a, 'half_open'), becomes(b, 'half_open')]);
    const admissions = await Promise.all([a.trial(), b.trial()]);
    assert.equal(admissions.filter(({ kind }) => kind === 'permit').length, 1);
  });

  test('keep a trial while Redis is down, and share it again when it is back empty', async () => {
    await using one = await startHub(redis.url);
    await using other = await startHub(redis.url);
    const key = newKey();
    using a = breakerOf(one.sharing, key, soonMs, { leaseMs: 500 });
    using b = breakerOf(other.sharing, key, soonMs);
    breakServer(a);
    await Promise.all([becomes(a, 'half_open'), becomes(b, 'half_open')]);
    const trial = await trialOf(a);
    await redis.kill();
    await isDegraded(one, other);
    await redis.start();
    await isShared(one, other);
    const lock = `agenthub:breaker:trial:${key}`;
    while ((await redis.cli('exists', lock)) !== '1');
    assert.equal((await b.trial()).kind, 'refused');
    assert.ok(trial.current);
    trial.succeeded();
    await becomes(b, 'closed');
    assert.equal(await redis.cli('exists', lock), '0');
  });

  test('start without Redis, and share when it is up', async () => {
    await redis.kill();
    const since = performance.now();
    await using one = await startHub(redis.url, { startMs: 200 });
    assert.ok(performance.now() - since < 1_000, 'the start waits for it no longer than it may');
    assert.equal(one.sharing.status.kind, 'degraded');
    const key = newKey();
    using a = breakerOf(one.sharing, key, lateMs);
    breakServer(a);
    await until(() => one.log.length > 0, 'a warning');
    await redis.start();
    await isShared(one);
    await using other = await startHub(redis.url);
    using b = breakerOf(other.sharing, key, lateMs);
    await becomes(b, 'open');
  });

  test('let unused keys expire', async () => {
    const hub = await startHub(redis.url, { keptMs: 500 });
    const key = newKey();
    const a = breakerOf(hub.sharing, key, soonMs);
    breakServer(a);
    const state = `agenthub:breaker:state:${key}`;
    await isShared(hub);
    const leftMs = async () => Number(await redis.cli('pttl', state));
    let mostMs = await leftMs();
    while (mostMs < 0) mostMs = await leftMs();
    assert.ok(mostMs <= 500 + soonMs, `it is kept for ${mostMs} ms`);
    a[Symbol.dispose]();
    await hub[Symbol.asyncDispose]();
    // `pttl` answers -2 for a key that is gone, and -1 for a key that never expires.
    for (let left = mostMs; left !== -2; left = await leftMs()) assert.ok(left >= 0);
  });

  test('leak neither memory nor descriptors over a thousand cut connections', async () => {
    await using hub = await startHub(redis.url, { maxRetryMs: 1 });
    using breaker = breakerOf(hub.sharing, newKey(), lateMs);
    const { Redis } = await import('ioredis');
    const operator = new Redis(redis.url);
    const cut = async (times: number) => {
      for (const most = hub.attempts() + times; hub.attempts() < most;) {
        const before = hub.attempts();
        await operator.client('KILL', 'TYPE', 'PUBSUB');
        await until(() => hub.attempts() > before, 'the loss');
        await isShared(hub);
      }
    };
    await cut(50);
    const [heapBefore, descriptorsBefore] = [heapBytes(), descriptors()];
    await cut(1_000);
    const grownBytes = heapBytes() - heapBefore;
    assert.ok(grownBytes < 2 * 2 ** 20, `the heap grew by ${grownBytes} bytes`);
    assert.ok(descriptors() <= descriptorsBefore + 2, `${descriptors()} descriptors are open`);
    operator.disconnect();
    breakServer(breaker);
    assert.equal(breaker.state, 'open');
  }, 120_000);
});

test('a thousand connection attempts to a closed address leak neither memory nor descriptors', async () => {
  const url = `redis://agenthub:${password}@127.0.0.1:1`;
  const [before, hub] = [descriptors(), await startHub(url, { startMs: 1, maxRetryMs: 1 })];
  using breaker = breakerOf(hub.sharing, newKey(), lateMs);
  await until(() => hub.attempts() >= 100, 'the first attempts');
  const heapBefore = heapBytes();
  await until(() => hub.attempts() >= 1_100, 'a thousand attempts more');
  const grownBytes = heapBytes() - heapBefore;
  breakServer(breaker);
  assert.ok(grownBytes < 2 * 2 ** 20, `the heap grew by ${grownBytes} bytes`);
  assert.match(reasonOf(hub), /127\.0\.0\.1:1: connect ECONNREFUSED/);
  assert.equal(hub.log.length, 1);
  await hub[Symbol.asyncDispose]();
  assert.ok(descriptors() <= before + 1, `${descriptors()} descriptors are open, of ${before}`);
  assert.doesNotMatch(hub.log.join('\n') + reasonOf(hub), new RegExp(password));
}, 60_000);

describeWithEngine('a Redis with a password', () => {
  test('is used with the right one, and a wrong one is in no message', async () => {
    await using redis = await startRedis('--requirepass', password);
    const withPassword = (word: string) => redis.url.replace('//', `//:${word}@`);
    await using right = await startHub(withPassword(password));
    await isShared(right);
    await using wrong = await startHub(withPassword('wrong-horse'), { startMs: 10 });
    await until(() => /WRONGPASS/.test(reasonOf(wrong)), 'the refusal');
    const written = [...right.log, ...wrong.log, reasonOf(wrong)].join('\n');
    assert.doesNotMatch(written, /horse/);
    assert.equal(wrong.log.length, 1);
  });

  test('that requires a password and gets none is degraded, with the error of Redis', async () => {
    await using redis = await startRedis('--requirepass', password);
    await using hub = await startHub(redis.url, { startMs: 10 });
    await until(() => /NOAUTH/.test(reasonOf(hub)), 'the refusal');
  });

  test('that is read-only is degraded, with the error of Redis', async () => {
    await using redis = await startRedis(
      '--replicaof',
      '127.0.0.1',
      '1',
      '--replica-read-only',
      'yes',
    );
    await using hub = await startHub(redis.url);
    using breaker = breakerOf(hub.sharing, newKey(), lateMs);
    breakServer(breaker);
    await until(() => /READONLY|MASTERDOWN/.test(reasonOf(hub)), 'the refusal');
  });
});
