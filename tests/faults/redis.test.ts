import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, until } from '#helpers/hub-process';
import { type RedisServer, startRedis } from '#helpers/redis';
import { besideNeighbour } from './neighbour.ts';
import { type Scene, becomes, breakerOf, createScene, inContainer, recovery } from './scene.ts';

const servers = { victim: inContainer('stateful.mjs', { timeout: 1 }) };
/** Redis keys of the breaker of `victim`, which both hubs have. */
const stateKeys = 'agenthub:breaker:state:victim:*';
/** Time limit in ms. A hub notices a missing answer after a second, and hubs check each other every two seconds. */
const withinMs = 15_000;

type Hub = { readonly scene: Scene; readonly hub: HubProcess };

/** Returns the part `breakers` of `/health`, and the overall status. */
async function sharing({ hub }: Hub): Promise<Readonly<Record<string, unknown>>> {
  const health = await getJson(hub, '/health');
  assert.ok(isObject(health) && isObject(health['parts']));
  const part = health['parts']['breakers'];
  assert.ok(isObject(part));
  return { status: health['status'], ...part };
}

describeWithEngine('a Redis that fails', () => {
  let redis: RedisServer;
  let one: Hub;
  let other: Hub;
  const scenes: Scene[] = [];

  beforeAll(async () => {
    redis = await startRedis();
    const env = { REDIS_URL: redis.url, CB_FAILURE_THRESHOLD: '3', CB_RECOVERY_TIMEOUT: '60' };
    const start = async (): Promise<Hub> => {
      const scene = await createScene({ servers, env });
      scenes.push(scene);
      const hub = await scene.start();
      for (const name of ['victim', 'neighbour']) await becomes(hub, name, 'running');
      return { scene, hub };
    };
    [one, other] = [await start(), await start()];
  });

  afterAll(async () => {
    for (const scene of scenes) await scene[Symbol.asyncDispose]();
    await redis?.[Symbol.asyncDispose]();
  });

  /** Before each test, restart the server on one hub, which closes its breaker on both. */
  beforeEach(async () => {
    await areShared();
    const answer = await fetch(`${one.hub.url}/servers/victim/restart`, {
      method: 'POST',
      headers: one.hub.ownerHeaders,
    });
    assert.equal(answer.status, 200);
    for (const hub of [one, other]) await isShown(hub, 'closed');
  });

  async function areShared(): Promise<void> {
    for (const hub of [one, other])
      await until(
        () => sharing(hub),
        ({ state, backend }) => state === 'up' && backend === 'redis',
        withinMs,
      );
  }

  /** Checks that both hubs show the loss of Redis, and count breakers in memory. */
  async function areDegraded(reason: RegExp): Promise<void> {
    for (const hub of [one, other]) {
      const shown = await until(
        () => sharing(hub),
        ({ state }) => state === 'degraded',
        withinMs,
      );
      assert.equal(shown['status'], 'degraded');
      assert.equal(shown['backend'], 'memory');
      assert.match(String(shown['detail']), reason);
    }
  }

  /** Returns the number of breaker records in Redis for the server. */
  const knownCount = async () =>
    (await redis.cli('--scan', '--pattern', stateKeys)).split('\n').filter(key => key !== '')
      .length;

  const isShown = async ({ hub }: Hub, state: string) =>
    await until(
      () => breakerOf(hub, 'victim'),
      breaker => breaker['state'] === state,
      withinMs,
    );

  /** Opens the breaker with three calls that time out. */
  async function breakServer({ hub }: Hub): Promise<void> {
    await using client = await connect(`${hub.url}/mcp/victim`);
    const ends = await Promise.allSettled([1, 2, 3].map(() => client.call('slow', { ms: 60_000 })));
    for (const end of ends) {
      assert.ok(end.status === 'rejected');
      assert.match(String(end.reason), /did not answer tools\/call within 1 s/);
    }
  }

  /** Runs a fault of Redis while both hubs are called. Fails if a call fails or is late. */
  async function unnoticed(fault: () => Promise<void>): Promise<void> {
    await besideNeighbour([one.hub, other.hub], fault);
    for (const { scene, hub } of [one, other]) await scene.assertTruthful(hub);
  }

  test('killed and restarted: each hub decides alone meanwhile, and then they agree', async () => {
    await unnoticed(async () => {
      await redis.kill();
      await areDegraded(/connection|ECONN/i);
      await breakServer(one);
      assert.equal((await breakerOf(one.hub, 'victim'))['state'], 'open');
      assert.equal((await breakerOf(other.hub, 'victim'))['state'], 'closed');
      await redis.start();
      const since = performance.now();
      await areShared();
      const breaker = await isShown(other, 'open');
      recovery('Redis killed, from its new start until two hubs agree', performance.now() - since);
      assert.match(String(breaker['why']), /did not answer/);
    });
    assert.equal(await knownCount(), 1);
  });

  test('flushed: the state of the hubs is restored', async () => {
    await unnoticed(async () => {
      await breakServer(one);
      await isShown(other, 'open');
      assert.equal(await knownCount(), 1);
      await redis.cli('flushall');
      const since = performance.now();
      await until(knownCount, found => found === 1, withinMs);
      recovery('Redis flushed, until it knows again', performance.now() - since);
      for (const hub of [one, other]) {
        assert.equal((await breakerOf(hub.hub, 'victim'))['state'], 'open');
        assert.equal((await sharing(hub))['state'], 'up');
      }
    });
  });

  test('slow: no call waits for its answers, and it counts as down until they come', async () => {
    await unnoticed(async () => {
      await redis.cli('client', 'pause', '6000', 'all');
      const since = performance.now();
      await areDegraded(/did not answer within 1000 ms|connect/i);
      await breakServer(other);
      await areShared();
      await isShown(one, 'open');
      recovery('Redis paused for 6 s, from then until two hubs agree', performance.now() - since);
    });
  });

  test('frozen: it counts as down', async () => {
    await unnoticed(async () => {
      await redis.freeze();
      await areDegraded(/did not answer within 1000 ms|connect/i);
      await breakServer(one);
      await redis.thaw();
      const since = performance.now();
      await areShared();
      await isShown(other, 'open');
      recovery('Redis frozen, from its thaw until two hubs agree', performance.now() - since);
    });
  });
});
