import type { createRedisCache } from './redis-cache.ts';

/** The cache that hubs share through Redis, for hubs that have one: others need not load it. */
export async function loadRedisCache(): Promise<typeof createRedisCache> {
  return (await import('./redis-cache.ts')).createRedisCache;
}
