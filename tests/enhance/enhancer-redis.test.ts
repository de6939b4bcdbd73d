import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, test } from 'vitest';
import { type ExactCache, loadRedisCache } from '#cache';
import { silent, systemClock } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { until } from '#helpers/hub';
import { type RedisServer, startRedis } from '#helpers/redis';
import { improvedOf } from '../doubles/ollama.ts';
import { type Scene, never, openScene, roomy } from './enhancer-scene.ts';

const lateMs = 500;
const patient = { totalMs: 20_000, firstTokenMs: 10_000, loadMs: 10_000 } as const;
const brief = { totalMs: 5_000, firstTokenMs: 3_000, loadMs: 3_000 } as const;

describeWithEngine('enhancers that share a Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(() => redis?.[Symbol.asyncDispose]());

  /** Opens a cache in Redis. Each hub opens one; caches of one prefix share their entries. */
  async function openCache(prefix: string, reachMs: number): Promise<ExactCache & AsyncDisposable> {
    const createRedisCache = await loadRedisCache();
    const cache = createRedisCache(
      { ...roomy, url: redis.url, prefix, reachMs, maxRetryMs: 100 },
      { clock: systemClock, log: silent, random: () => 0 },
    );
    await cache.start(never);
    return { ...cache, [Symbol.asyncDispose]: () => cache.stop() };
  }

  async function isUp(cache: ExactCache): Promise<void> {
    let kind = '';
    await until(() => {
      void cache.stats().then(({ status }) => (kind = status.kind));
      return kind === 'up';
    });
  }

  /** Opens two hubs with caches of one prefix, which share the first hub's Ollama. */
  async function openTwo(rule: typeof patient | typeof brief, reachMs = 25) {
    const stack = new AsyncDisposableStack();
    const prefix = `enhancers-${randomUUID()}:`;
    const open = async (url?: string): Promise<Scene> => {
      const exact = stack.use(await openCache(prefix, reachMs));
      await isUp(exact);
      return stack.use(await openScene({ exact, rule, ...(url !== undefined && { url }) }));
    };
    const one = await open();
    const two = await open(one.ollama.url);
    return { one, two, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  }

  test('ask the model once for each hub for 200 equal prompts at the same time', async () => {
    // On a busy machine, a short limit would make Redis count as down, and nothing would be cached.
    await using hubs = await openTwo(patient, 5_000);
    const held = Promise.withResolvers<void>();
    hubs.one.ollama.fails('/api/chat', { kind: 'slow', until: held.promise }, 2);
    const asked = Array.from({ length: 200 }, (_, index) =>
      (index % 2 === 0 ? hubs.one : hubs.two).enhance('one'),
    );
    await until(() => hubs.one.asked().length === 2);
    held.resolve();
    const all = await Promise.all(asked);
    assert.deepEqual([...new Set(all.map(({ prompt }) => prompt))], [improvedOf('one')]);
    assert.deepEqual(
      all.filter(({ source }) => source !== 'model' && source !== 'l1'),
      [],
    );
    assert.equal(hubs.one.asked().length, 2);
  });

  test('find results that the other hub has stored', async () => {
    await using hubs = await openTwo(patient, 5_000);
    await hubs.one.enhance('one');
    assert.equal((await hubs.two.enhance('one')).source, 'l1');
    await hubs.two.enhancer.forget('default');
    assert.equal((await hubs.one.enhance('one')).source, 'model');
  });

  test('report that Redis refused to forget results', async () => {
    await using hubs = await openTwo(patient, 5_000);
    await hubs.one.enhance('one');
    await redis.cli('config', 'set', 'min-replicas-to-write', '1');
    try {
      await assert.rejects(
        hubs.one.enhancer.forget(),
        ({ code, message }) =>
          code === 'HUB_CACHE_UNREACHABLE' && /could not be removed from Redis now/.test(message),
      );
    } finally {
      await redis.cli('config', 'set', 'min-replicas-to-write', '0');
    }
    assert.deepEqual((await hubs.one.enhancer.forget()).semantic, 0);
  });

  test('improve prompts in time while Redis hangs, and when it is killed meanwhile', async () => {
    await using hubs = await openTwo(brief);
    await hubs.one.enhance('zero');
    await redis.freeze();
    try {
      const frozen = await hubs.one.enhance('one');
      assert.deepEqual([frozen.prompt, frozen.source], [improvedOf('one'), 'model']);
      assert.ok(frozen.tookMs < 1_000 + lateMs, `${frozen.tookMs} ms`);
    } finally {
      await redis.thaw();
    }
    for (const { exact } of [hubs.one, hubs.two]) await isUp(exact);
    const held = Promise.withResolvers<void>();
    hubs.one.ollama.fails('/api/chat', { kind: 'slow', until: held.promise }, 2);
    const before = hubs.one.asked().length;
    const asked = [hubs.one.enhance('two'), hubs.two.enhance('two')];
    await until(() => hubs.one.asked().length > before);
    await redis.kill();
    try {
      held.resolve();
      for (const done of await Promise.all(asked)) {
        assert.equal(done.prompt, improvedOf('two'));
        assert.ok(done.tookMs < brief.totalMs + lateMs, `${done.tookMs} ms`);
      }
      const away = await hubs.two.enhance('three');
      assert.equal(away.prompt, improvedOf('three'));
      // While Redis is down, nothing is cached, and nothing fails.
      assert.equal((await hubs.two.enhance('three')).source, 'model');
    } finally {
      await redis.start();
    }
  });
});

test('an enhancer whose Redis never answered improves prompts in time', async () => {
  const createRedisCache = await loadRedisCache();
  const exact = createRedisCache(
    { ...roomy, url: 'redis://127.0.0.1:1', prefix: 'none:' },
    { clock: systemClock, log: silent, random: () => 0 },
  );
  await exact.start(never);
  await using scene = await openScene({ exact });
  try {
    for (const prompt of ['one', 'one', 'two']) {
      const done = await scene.enhance(prompt);
      assert.deepEqual([done.prompt, done.source], [improvedOf(prompt), 'model']);
      assert.ok(done.tookMs < 1_000 + lateMs, `${done.tookMs} ms`);
    }
  } finally {
    await exact.stop();
  }
});
