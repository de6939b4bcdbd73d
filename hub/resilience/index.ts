export {
  type Breaker,
  type BreakerChange,
  type BreakerOptions,
  type BreakerSnapshot,
  type BreakerState,
  type Permit,
  type Refusal,
  type Standing,
  type TrialNeeded,
  createBreaker,
} from './breaker.ts';
export {
  type Bulkhead,
  type BulkheadOptions,
  type BulkheadSnapshot,
  createBulkhead,
} from './bulkhead.ts';
export { type RestartLimit, recordRestart } from './intensity.ts';
export { createMemorySharing } from './memory-sharing.ts';
export { loadRedisSharing } from './redis.ts';
export type { RedisSharingOptions } from './redis-sharing.ts';
export {
  type Claim,
  type Lease,
  type Membership,
  type SharedBreaker,
  type SharedBreakerOptions,
  type Sharing,
  type SharingStatus,
  createSharedBreaker,
} from './shared-breakers.ts';
