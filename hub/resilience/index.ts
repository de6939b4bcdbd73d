export {
  type Breaker,
  type BreakerChange,
  type Permit,
  type BreakerRefusal,
  createBreaker,
} from './breaker.ts';
export { createBulkhead } from './bulkhead.ts';
export {
  type CallAdmission,
  type CallLimiter,
  type CallLimits,
  createMemoryCallLimiter,
} from './call-limits.ts';
export { type RestartLimit, recordRestart } from './intensity.ts';
export { loadRedisCallLimiter, loadRedisSharing } from './redis.ts';
export type { RedisSharingOptions } from './redis-sharing.ts';
export {
  type SharedBreaker,
  type Sharing,
  type SharingStatus,
  createMemorySharing,
  createSharedBreaker,
} from './shared-breakers.ts';
