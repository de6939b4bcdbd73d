export { cacheKey } from './cache-key.ts';
export type {
  CacheStats,
  CacheStatus,
  ExactCache,
  Fill,
  Filled,
  Found,
  KeepOptions,
} from './exact-cache.ts';
export { createMemoryCache } from './memory-cache.ts';
export { loadRedisCache } from './redis.ts';
export type { RedisCacheOptions } from './redis-cache.ts';
