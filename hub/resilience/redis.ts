import type { createRedisSharing } from './redis-sharing.ts';

/** What shares breakers through Redis, for hubs that have one: others need not load it. */
export async function loadRedisSharing(): Promise<typeof createRedisSharing> {
  return (await import('./redis-sharing.ts')).createRedisSharing;
}
