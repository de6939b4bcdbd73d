import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ExactCache, cacheKey, createMemoryCache, loadRedisCache } from '#cache';
import { silent, systemClock } from '#core';
import { startRedis } from '#helpers/redis';
import { median } from './median.ts';

/** Cost of a hit of the exact cache, in microseconds. */
type L1Hit = {
  readonly memoryUs: number;
  /** A hit in Redis, and a bare GET of the same value in the same run. Undefined without Redis. */
  readonly redis: { readonly hitUs: number; readonly getUs: number } | undefined;
  /** Number of calls that missed the cache, or returned another value. */
  readonly wrong: number;
};

const bounds = { maxEntries: 1_000, maxBytes: 2 ** 26 };
const keep = { tag: 'bench', ttlMs: 600_000 };
const value = 'Answer in one paragraph. '.repeat(80);
const never = new AbortController().signal;
/** Number of calls in a row that are timed together. */
const [inMemory, overRedis] = [20_000, 500];
/** As many keys as the cache holds, so that each hit moves an entry. */
const keys = Array.from({ length: bounds.maxEntries }, (_, index) => cacheKey([`${index}`]));

/** Measures hits one after the other. `withRedis` starts a Redis in a container. */
export async function measureL1Hit({
  rounds,
  withRedis,
}: {
  readonly rounds: number;
  readonly withRedis: boolean;
}): Promise<L1Hit> {
  await using opened = new AsyncDisposableStack();
  let wrong = 0;

  async function fillAll(cache: ExactCache): Promise<void> {
    for (const key of keys)
      await cache.getOrFill(key, keep, async () => ({ value, isKept: true }), never);
  }

  /** Makes calls one after the other. Returns the mean time of a call in microseconds. */
  async function timed(calls: number, call: (key: string) => Promise<unknown>): Promise<number> {
    const since = performance.now();
    for (let index = 0; index < calls; index++) await call(keys[index % keys.length] ?? '');
    return ((performance.now() - since) * 1_000) / calls;
  }

  const hit = (cache: ExactCache) => async (key: string) => {
    const found = await cache.getOrFill(key, keep, async () => ({ value, isKept: true }), never);
    if (found.from !== 'hit' || found.value !== value) wrong++;
  };

  const memory = createMemoryCache(bounds, { clock: systemClock });
  await fillAll(memory);
  const memorySeen: number[] = [];
  for (let round = 0; round <= rounds; round++) memorySeen.push(await timed(inMemory, hit(memory)));
  const memoryUs = median(memorySeen.slice(1)) ?? 0;
  if (!withRedis) return { memoryUs, redis: undefined, wrong };

  const { url } = opened.use(await startRedis());
  const createRedisCache = await loadRedisCache();
  const shared = createRedisCache(
    { ...bounds, url, prefix: 'bench:', reachMs: 1_000 },
    { clock: systemClock, log: silent, random: Math.random },
  );
  opened.defer(() => shared.stop());
  await shared.start(never);
  while ((await shared.stats()).status.kind !== 'up') await nextTurn();
  await fillAll(shared);
  const { Redis } = await import('ioredis');
  const bare = new Redis(url);
  opened.defer(() => bare.disconnect());
  for (const key of keys) await bare.set(key, value);
  const get = async (key: string) => {
    if ((await bare.get(key)) !== value) wrong++;
  };
  const [hits, gets]: readonly [number[], number[]] = [[], []];
  for (let round = 0; round <= rounds; round++) {
    hits.push(await timed(overRedis, hit(shared)));
    gets.push(await timed(overRedis, get));
  }
  const redis = { hitUs: median(hits.slice(1)) ?? 0, getUs: median(gets.slice(1)) ?? 0 };
  return { memoryUs, redis, wrong };
}
