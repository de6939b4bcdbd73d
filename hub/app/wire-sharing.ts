import type { Settings } from '#config';
import { createMemorySharing, loadRedisSharing } from '#resilience';
import type { System } from './system.ts';

/** Opens the state that hubs share: in Redis if the settings name one, otherwise in this process. */
export async function openSharing(
  { redisUrl, deployment }: Pick<Settings, 'redisUrl' | 'deployment'>,
  { clock, log, ...needs }: System,
) {
  if (redisUrl === undefined) return createMemorySharing(clock)();
  const create = await loadRedisSharing();
  return create(
    { url: redisUrl, deployment },
    { ...needs, clock, log: log.child({ part: 'redis' }) },
  );
}
