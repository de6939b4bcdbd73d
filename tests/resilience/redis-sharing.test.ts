import { randomUUID } from 'node:crypto';
import { silent, systemClock } from '#core';
import { describeWithRedis } from '#helpers/redis';
import { createRedisSharing } from '../../hub/resilience/redis-sharing.ts';
import { sharingContract } from '../contracts/sharing.ts';

describeWithRedis('on a real Redis', url => {
  sharingContract({
    name: 'through Redis',
    async hub() {
      const sharing = createRedisSharing(
        { url: url() },
        { clock: systemClock, log: silent, random: Math.random, newId: () => randomUUID() },
      );
      await sharing.start();
      return sharing;
    },
  });
});
