import type { Settings } from '#config';
import type { Clock, Log } from '#core';
import { createMemorySharing, loadRedisSharing } from '#resilience';

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  readonly random: () => number;
};

/** Opens what hubs share: through Redis where there is one, else within this process. */
export async function openSharing(
  { redisUrl, deployment }: Pick<Settings, 'redisUrl' | 'deployment'>,
  { clock, log, ...needs }: Needs,
) {
  if (redisUrl === undefined) return createMemorySharing(clock)();
  const create = await loadRedisSharing();
  return create(
    { url: redisUrl, deployment },
    { ...needs, clock, log: log.child({ part: 'redis' }) },
  );
}
