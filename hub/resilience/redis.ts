import type { createRedisCallLimiter } from './redis-call-limits.ts';
import type { createRedisSharing } from './redis-sharing.ts';

/** Loads the module that shares breakers through Redis, which hubs without Redis do not need. */
export async function loadRedisSharing(): Promise<typeof createRedisSharing> {
  return (await import('./redis-sharing.ts')).createRedisSharing;
}

/** Loads the module that shares limits through Redis, which hubs without limits or without Redis do not need. */
export async function loadRedisCallLimiter(): Promise<typeof createRedisCallLimiter> {
  return (await import('./redis-call-limits.ts')).createRedisCallLimiter;
}
