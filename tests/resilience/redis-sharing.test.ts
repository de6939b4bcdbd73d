import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'vitest';
import { silent, systemClock } from '#core';
import { describeWithRedis } from '#helpers/redis';
import { createRedisSharing } from '../../hub/resilience/redis-sharing.ts';
import { until } from '../contracts/recorder.ts';
import { breakServer, breakerOf, lateMs, newKey, sharingContract } from '../contracts/sharing.ts';

describeWithRedis('on a real Redis', url => {
  async function startSharing(deployment?: string) {
    const sharing = createRedisSharing(
      { url: url(), deployment },
      { clock: systemClock, log: silent, random: Math.random, newId: () => randomUUID() },
    );
    await sharing.start();
    return sharing;
  }

  sharingContract({ name: 'through Redis', hub: () => startSharing() });

  test('hubs of another deployment do not share breakers', async () => {
    const key = newKey();
    const hubs = await Promise.all(['one', 'one', 'two'].map(name => startSharing(name)));
    const [first, same, other] = hubs.map(hub => breakerOf(hub, key, lateMs));
    assert.ok(first && same && other);
    breakServer(first);
    await until(() => same.state === 'open', 'the breaker of the same deployment opens');
    assert.equal(other.state, 'closed');
    for (const breaker of [first, same, other]) breaker[Symbol.dispose]();
    await Promise.all(hubs.map(hub => hub.stop()));
  });
});
