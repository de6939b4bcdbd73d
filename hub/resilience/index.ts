export {
  type Breaker,
  type BreakerChange,
  type Permit,
  type Refusal,
  createBreaker,
} from './breaker.ts';
export { type Bulkhead, type BulkheadSnapshot, createBulkhead } from './bulkhead.ts';
export { type RestartLimit, recordRestart } from './intensity.ts';
export { createMemorySharing } from './memory-sharing.ts';
export { loadRedisSharing } from './redis.ts';
export type { RedisSharingOptions } from './redis-sharing.ts';
export {
  type SharedBreaker,
  type Sharing,
  type SharingStatus,
  createSharedBreaker,
} from './shared-breakers.ts';
