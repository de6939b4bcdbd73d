import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, startHub, until } from '#helpers/hub-process';
import { type RedisServer, startRedis } from '#helpers/redis';
import { breakerOf, recovery } from './scene.ts';

const fixture = join(import.meta.dirname, '../fixtures/servers/stateful.mjs');
/** Time in ms for which a dead hub still owns its trial, so that no other hub tries the server. */
const leaseMs = 5_000;

/** Starts a hub with one server, whose last argument distinguishes it from that of other hubs. */
async function startOne(url: string, which: string, dataDir?: string): Promise<HubProcess> {
  const st = {
    command: process.execPath,
    args: [fixture, which],
    runtime: 'process',
    auto_start: true,
    timeout: 1,
  };
  return await startHub({
    config: { servers: { st } },
    env: { REDIS_URL: url, CB_FAILURE_THRESHOLD: '3', CB_RECOVERY_TIMEOUT: '2' },
    ...(dataDir !== undefined && { dataDir }),
  });
}

async function breakServer(hub: HubProcess): Promise<void> {
  await using client = await connect(`${hub.url}/mcp/st`);
  const calls = [1, 2, 3].map(() => client.call('slow', { ms: 60_000 }));
  for (const { status } of await Promise.allSettled(calls)) assert.equal(status, 'rejected');
}

async function isShown(hub: HubProcess, state: string): Promise<void> {
  await until(
    () => breakerOf(hub, 'st'),
    breaker => breaker['state'] === state,
    10_000,
  );
}

describeWithEngine('the breaker of hubs on one Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(async () => await redis?.[Symbol.asyncDispose]());

  test('is shared by replicas of the same server only: another server of its name stays closed', async () => {
    await using one = await startOne(redis.url, 'one');
    await using other = await startOne(redis.url, 'other');
    await using replica = await startOne(redis.url, 'one');
    await breakServer(one);
    await isShown(replica, 'open');
    assert.equal((await breakerOf(other, 'st'))['state'], 'closed');
    await using client = await connect(`${other.url}/mcp/st`);
    assert.match(await client.call('recall'), /"initialized":1/);
  });

  test('is tried again soon after a hub was killed during its trial, at the time its next run says', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-faults-'));
    try {
      await using first = await startOne(redis.url, 'killed', dataDir);
      await breakServer(first);
      await isShown(first, 'half_open');
      {
        // The client uses /mcp, as an `initialize` at the server's own endpoint would be the trial.
        const client = await connect(`${first.url}/mcp`);
        const trial = client.call('st_slow', { ms: 60_000 }).catch(() => {});
        const locks = () => redis.cli('--scan', '--pattern', 'agenthub:breaker:trial:st:*');
        while ((await locks()) === '');
        await first.kill();
        await trial;
        await client[Symbol.asyncDispose]();
      }
      const since = performance.now();
      await using next = await startOne(redis.url, 'killed', dataDir);
      await using again = await connect(`${next.url}/mcp`);
      const told: number[] = [];
      for (;;) {
        const failure = await again.call('st_recall').then(
          () => undefined,
          (error: unknown) => error,
        );
        if (failure === undefined) break;
        assert.ok(failure instanceof Error && 'data' in failure && isObject(failure.data));
        assert.match(failure.message, /Try again in \d s/);
        told.push(Number(failure.data['retryAfterMs']));
        // Wait as long as the error says, like a well-behaved client.
        await delay(told.at(-1));
      }
      const tookMs = performance.now() - since;
      recovery('a hub killed in its trial, until its next run tries the server again', tookMs);
      assert.ok(tookMs < leaseMs + 1_500, `it took ${tookMs} ms`);
      assert.ok(told.length <= 3, `it was told to wait ${told.join(', ')} ms`);
      await isShown(next, 'closed');
    } finally {
      await rm(dataDir, { recursive: true, force: true });
    }
  });
});
