import type { createRedisSharing } from './redis-sharing.ts';

/** Loads the sharing through Redis, which hubs without Redis do not need. */
export async function loadRedisSharing(): Promise<typeof createRedisSharing> {
  return (await import('./redis-sharing.ts')).createRedisSharing;
}
