import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import type { ExactCache, RedisCacheOptions } from '#cache';
import { systemClock } from '#core';
import { createRedisCache } from '../../hub/cache/redis-cache.ts';
import { wide } from './contract.ts';

export type Hub = AsyncDisposable & {
  readonly cache: ExactCache;
  /** Log lines, with their levels. */
  readonly log: readonly string[];
};

let prefixes = 0;
/** Returns a prefix that no other test uses, nor any earlier run on the same Redis. */
export const newPrefix = (): string => `tested-${process.pid}-${Date.now()}-${++prefixes}:`;

/**
 * Starts a hub's cache, which may not be connected yet. It waits longer than by default, as a machine that runs tests
 * may be too busy to answer in 25 ms.
 */
export async function startHub(
  options: Partial<RedisCacheOptions> & { url: string },
): Promise<Hub> {
  const log: string[] = [];
  const write = (level: string) => (fields: object, message: string) =>
    void log.push(`${level} ${message} ${JSON.stringify(fields)}`);
  const cache = createRedisCache(
    { ...wide, prefix: newPrefix(), maxRetryMs: 100, reachMs: 5_000, answerMs: 5_000, ...options },
    {
      clock: systemClock,
      log: { info: write('info'), warn: write('warn') },
      random: () => 0,
    },
  );
  await cache.start(new AbortController().signal);
  return { cache, log, [Symbol.asyncDispose]: () => cache.stop() };
}

/** Interval between checks of a cache, in ms. A check in each turn would send endless commands to a frozen Redis. */
export const pollMs = 2;

/** Waits until the caches are connected, or disconnected. */
export async function becomes(kind: 'up' | 'down', ...hubs: readonly Hub[]): Promise<void> {
  const deadline = performance.now() + 15_000;
  for (const { cache } of hubs)
    while ((await cache.stats()).status.kind !== kind) {
      assert.ok(performance.now() < deadline, `waited in vain for a cache that is ${kind}`);
      await delay(pollMs);
    }
}
