import type { createRedisCache } from './redis-cache.ts';

/** Loads the module of the cache in Redis, which hubs without Redis do not need. */
export async function loadRedisCache(): Promise<typeof createRedisCache> {
  return (await import('./redis-cache.ts')).createRedisCache;
}
