import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { isObject } from '#core';
import { getJson, startHub } from '#helpers/hub-process';

describe('a hub whose Redis is not there when it starts', () => {
  for (const [why, url] of [
    ['refuses connections', 'redis://127.0.0.1:1'],
    ['has a name that nobody knows', 'redis://nobody.invalid:6379'],
  ] as const)
    test(`starts all the same, and says so, where it ${why}`, async () => {
      await using hub = await startHub({ config: { servers: {} }, env: { REDIS_URL: url } });
      const health = await getJson(hub, '/health');
      assert.ok(isObject(health) && isObject(health['parts']));
      const { breakers } = health['parts'];
      assert.ok(isObject(breakers));
      assert.deepEqual([health['status'], breakers['state']], ['degraded', 'degraded']);
    });
});
