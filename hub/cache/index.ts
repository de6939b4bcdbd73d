export { cacheKey } from './cache-key.ts';
export type { CacheStats, ExactCache, Fill, Found } from './exact-cache.ts';
export { createMemoryCache } from './memory-cache.ts';
export { loadRedisCache } from './redis.ts';
export type { RedisCacheOptions } from './redis-client.ts';
