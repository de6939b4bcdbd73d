import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { afterAll, beforeAll, test } from 'vitest';
import { type Clock, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { describeWithEngine } from '#helpers/engine';
import { until } from '#helpers/hub';
import { type RedisServer, describeWithRedis, startRedis } from '#helpers/redis';
import type { CallAdmission, CallLimits } from '#resilience';
import {
  type RedisCallLimiterOptions,
  createRedisCallLimiter,
} from '../../hub/resilience/redis-call-limits.ts';

/** Duration of the leases of a hub, and interval of their renewals, which no other timer uses, in ms. */
const [leaseMs, renewalMs] = [1_500, 500];

type Admitted = Extract<CallAdmission, { kind: 'admitted' }>;

/** Clock of a hub with `leaseMs` that renews no leases, like a hub that was killed. */
const silentClock: Clock = {
  ...systemClock,
  after: (ms, work) => systemClock.after(ms === renewalMs ? 2 ** 30 : ms, work),
};

/** Starts the limits of one hub. */
async function startHub(
  url: string,
  options: Partial<RedisCallLimiterOptions> = {},
  clock: Clock = systemClock,
) {
  const log: string[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void log.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const limiter = createRedisCallLimiter(
    { url, answerMs: 300, maxRetryMs: 100, ...options },
    {
      clock,
      log: { info: write('info'), warn: write('warn') },
      random: () => 0,
      newId: () => randomUUID(),
    },
  );
  await limiter.start();
  return {
    limiter,
    log,
    async enter(count: number, key: string, limits: CallLimits) {
      const all = await Promise.all(
        Array.from({ length: count }, async () => await limiter.enter(key, limits)),
      );
      const admitted = all.filter((one): one is Admitted => one.kind === 'admitted');
      return { admitted, refused: all.findLast(one => one.kind === 'refused') };
    },
    [Symbol.asyncDispose]: () => limiter.stop(),
  };
}

type Hub = Awaited<ReturnType<typeof startHub>>;

const kinds = (...hubs: readonly Hub[]) => hubs.map(({ limiter }) => limiter.status.kind).join();

/**
 * Makes calls until the hub shares its limits again. A hub that decides alone answers without leaving the event loop,
 * so between calls the connection to Redis gets its turn.
 */
async function callUntilShared(hub: Hub): Promise<void> {
  while (kinds(hub) !== 'shared') {
    const { admitted } = await hub.enter(1, 'again', { maxConcurrentCalls: 2 });
    admitted[0]?.leave();
    await setImmediate();
  }
}

describeWithEngine('hubs that share the limits of clients through Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis?.[Symbol.asyncDispose]());

  test('admit exactly as many concurrent calls as the limit says, in total', async () => {
    await using one = await startHub(redis.url);
    await using two = await startHub(redis.url);
    const limits = { maxConcurrentCalls: 4 };
    const [ofOne, ofTwo] = await Promise.all([
      one.enter(64, 'at-once', limits),
      two.enter(64, 'at-once', limits),
    ]);
    const admitted = [...ofOne.admitted, ...ofTwo.admitted];
    assert.equal(admitted.length, 4);
    const refused = { kind: 'refused', by: 'maxConcurrentCalls', retryAfterMs: 1_000 };
    assert.deepEqual([ofOne.refused, ofTwo.refused], [refused, refused]);
    for (const call of admitted) call.leave();
    while (Number(await redis.cli('zcard', 'agenthub:limit:active:at-once')) > 0);
    assert.equal((await one.enter(2, 'at-once', limits)).admitted.length, 2);
    assert.equal((await two.enter(9, 'at-once', limits)).admitted.length, 2);
  });

  test('admit exactly as many calls in a period as the rate says, in total', async () => {
    await using one = await startHub(redis.url);
    await using two = await startHub(redis.url);
    const limits = { rate: { calls: 10, perMs: 3_600_000 } };
    const [ofOne, ofTwo] = await Promise.all([
      one.enter(64, 'rate', limits),
      two.enter(64, 'rate', limits),
    ]);
    assert.equal(ofOne.admitted.length + ofTwo.admitted.length, 10);
    const { refused } = await two.enter(1, 'rate', limits);
    assert.ok(refused?.kind === 'refused' && refused.by === 'rate');
    assert.ok(refused.retryAfterMs > 300_000 && refused.retryAfterMs <= 360_000);
    // Moves the bucket's time back by a tenth of the period, which yields one token.
    const key = 'agenthub:limit:bucket:rate';
    const at = Number(await redis.cli('hget', key, 'at'));
    await redis.cli('hset', key, 'at', String(at - 360_000));
    await using three = await startHub(redis.url);
    assert.equal((await three.enter(3, 'rate', limits)).admitted.length, 1);
  });

  test('continue with the rate when the clock of Redis was set back by five minutes', async () => {
    await using hub = await startHub(redis.url);
    const limits = { rate: { calls: 10, perMs: 1_000 } };
    const key = 'agenthub:limit:bucket:set-back';
    await redis.cli('hset', key, 'tokens', '0', 'at', String(Date.now() + 300_000));
    assert.equal((await hub.enter(1, 'set-back', limits)).admitted.length, 0);
    const countsFrom = Number(await redis.cli('hget', key, 'at'));
    assert.ok(countsFrom < Date.now() + 60_000, 'the time since the setting counts');
  });

  test('count the calls of a killed hub until their lease ends, and those of a running hub until they end', async () => {
    await using living = await startHub(redis.url, { leaseMs });
    await using dead = await startHub(redis.url, { leaseMs }, silentClock);
    const limits = { maxConcurrentCalls: 3 };
    assert.equal((await living.enter(1, 'lease', limits)).admitted.length, 1);
    assert.equal((await dead.enter(2, 'lease', limits)).admitted.length, 2);
    await using other = await startHub(redis.url, { leaseMs });
    const free = async () => {
      const { admitted } = await other.enter(4, 'lease', limits);
      return admitted.length;
    };
    const key = 'agenthub:limit:active:lease';
    while (Number(await redis.cli('zcard', key)) > 0) {
      const [seconds = '0', micros = '0'] = (await redis.cli('time')).split('\n');
      const now = Number(seconds) * 1_000 + Number(micros) / 1_000;
      if (Number(await redis.cli('zcount', key, String(now), '+inf')) === 1) break;
    }
    assert.equal(await free(), 2);
  });

  test('each continue alone while Redis is down, log it once, and share again when it is back', async () => {
    await using one = await startHub(redis.url, { leaseMs: 3_000 });
    await using two = await startHub(redis.url, { leaseMs: 3_000 });
    const limits = { maxConcurrentCalls: 4 };
    assert.equal(kinds(one, two), 'shared,shared');
    const before = await one.enter(3, 'gone', limits);
    assert.equal(before.admitted.length, 3);
    assert.equal((await two.enter(9, 'gone', limits)).admitted.length, 1);
    await redis.kill();
    const during = await two.enter(9, 'gone', limits);
    assert.equal(during.admitted.length, 3, 'its own four in all');
    await until(() => kinds(one, two) === 'degraded,degraded');
    assert.equal((await one.enter(9, 'gone', limits)).admitted.length, 1);
    for (const { log } of [one, two]) {
      const warnings = log.filter(line => line.startsWith('warn'));
      assert.equal(warnings.length, 1, log.join('\n'));
      assert.match(warnings[0] ?? '', /limits of clients count the calls of this hub only/);
    }
    await redis.start();
    await until(() => kinds(one, two) === 'shared,shared');
    // Both hubs have reported their calls: eight, with a limit of four.
    assert.equal((await one.enter(1, 'gone', limits)).admitted.length, 0);
    for (const call of during.admitted) call.leave();
    for (const call of before.admitted) call.leave();
    await using three = await startHub(redis.url);
    await until(() => kinds(three) === 'shared');
    const active = async () => Number(await redis.cli('zcard', 'agenthub:limit:active:gone'));
    while ((await active()) !== 2);
    assert.equal((await three.enter(9, 'gone', limits)).admitted.length, 2);
  });

  test('decide alone when a frozen Redis does not answer in time, and wait only once for it', async () => {
    await using hub = await startHub(redis.url, { answerMs: 5_000, decideMs: 100, leaseMs });
    const limits = { maxConcurrentCalls: 2 };
    await redis.freeze();
    const since = performance.now();
    const first = await hub.enter(3, 'frozen', limits);
    assert.equal(first.admitted.length, 2);
    for (const call of first.admitted) call.leave();
    for (let round = 0; round < 20; round++)
      for (const call of (await hub.enter(1, 'frozen', limits)).admitted) call.leave();
    const tookMs = performance.now() - since;
    const { status } = hub.limiter;
    await redis.thaw();
    assert.ok(tookMs < 1_000, `21 calls took ${tookMs} ms`);
    assert.equal(status.kind, 'degraded');
    assert.match(JSON.stringify(status), /did not answer within 100 ms/);
    await callUntilShared(hub);
    assert.deepEqual(
      hub.log.map(line => line.split(' {')[0]),
      [
        'info limits of clients are shared through Redis',
        'warn limits of clients count the calls of this hub only: Redis cannot be used',
        'info limits of clients are shared through Redis',
      ],
    );
  });

  test('report that they count alone if Redis answers with errors', async () => {
    await using hub = await startHub(redis.url, { answerMs: 5_000, decideMs: 5_000, leaseMs });
    const limits = { maxConcurrentCalls: 2 };
    await redis.cli('set', 'agenthub:limit:active:broken', 'no sorted set');
    assert.equal((await hub.enter(3, 'broken', limits)).admitted.length, 2);
    assert.match(JSON.stringify(hub.limiter.status), /"degraded".*WRONGTYPE/);
    await redis.cli('del', 'agenthub:limit:active:broken');
    await callUntilShared(hub);
  });

  test('use an answer that arrived while the event loop was busy', async () => {
    await using hub = await startHub(redis.url, { answerMs: 5_000, decideMs: 100 });
    const limits = { maxConcurrentCalls: 1 };
    await using other = await startHub(redis.url);
    const { admitted } = await other.enter(1, 'busy', limits);
    const entered = hub.limiter.enter('busy', limits);
    // Blocks the thread for longer than the hub waits for Redis.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500);
    assert.equal((await entered).kind, 'refused');
    assert.equal(admitted.length, 1);
  });
});

describeWithRedis('a hub that shares the limits of clients through a real Redis', url => {
  test('does not count a call again that ends while more than 500 leases are being renewed', async () => {
    const deployment = randomUUID();
    const clock = createManualClock();
    await using hub = await startHub(url(), { deployment, leaseMs: 15_000 }, clock);
    await using other = await startHub(url(), { deployment });
    const limits = { maxConcurrentCalls: 600 };
    const { admitted } = await hub.enter(600, 'many', limits);
    clock.advance(5_000);
    // The renewal of the first 500 leases is under way.
    admitted.at(-1)?.leave();
    // Redis answers in order: after these calls, it has also renewed the other leases.
    for (let round = 0; round < 3; round++) await hub.enter(1, 'round', limits);
    assert.equal((await other.enter(2, 'many', limits)).admitted.length, 1);
  });
});

test('a hub whose Redis is unreachable starts, and counts its own calls', async () => {
  await using hub = await startHub('redis://127.0.0.1:1', { startMs: 200 });
  assert.equal(kinds(hub), 'degraded');
  const { admitted } = await hub.enter(9, 'alone', { maxConcurrentCalls: 2 });
  assert.equal(admitted.length, 2);
});
