import assert from 'node:assert/strict';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { type SdkClient, connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, settled } from '#helpers/hub-process';
import { type RedisServer, startRedis } from '#helpers/redis';
import { besideNeighbour } from './neighbour.ts';
import { becomes, breakerOf, createScene, inContainer, recovery } from './scene.ts';

/** Duration of a trial in ms: long enough for all calls to arrive during it, and short enough not to time out. */
const trialMs = 3_000;
/** Timeout of the server's calls during a trial, in seconds. */
const trialTimeout = 6;
/** Duration in ms of calls that must time out. */
const tooLongMs = 60_000;

type Servers = Readonly<Record<string, object>>;

/** Waits until a hub shows a breaker in this state. Resolves with the time on the clock of `performance.now`. */
async function isShown(
  hub: Pick<HubProcess, 'url'>,
  state: string,
  server = 'victim',
): Promise<number> {
  const since = performance.now();
  for (;;) {
    const breaker = await breakerOf(hub, server);
    const now = performance.now();
    if (breaker['state'] === state) return now;
    assert.ok(now - since < 10_000, `the breaker of ${server} is ${JSON.stringify(breaker)}`);
    await delay(lookMs);
  }
}

/** Interval between two queries of a breaker in ms, which limits the resolution of the measurement. */
const lookMs = 20;

/** Resolves with the error of a call. Fails if the call succeeds. */
async function failureOf(call: Promise<unknown>): Promise<{ message: string; data: unknown }> {
  const error = await call.then(
    answer => assert.fail(`it was answered: ${String(answer)}`),
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof Error);
  return { message: error.message, data: 'data' in error ? error.data : undefined };
}

/** Opens the breaker with three calls that time out. */
async function breakServer(client: SdkClient): Promise<void> {
  const calls = [1, 2, 3].map(async () => await failureOf(client.call('slow', { ms: tooLongMs })));
  for (const { message } of await Promise.all(calls))
    assert.match(message, /did not answer tools\/call within \d s/);
}

/** Restarts the server, which closes its breaker. */
async function restartVictim({
  url,
  ownerHeaders,
}: Pick<HubProcess, 'url' | 'ownerHeaders'>): Promise<void> {
  const answer = await fetch(`${url}/servers/victim/restart`, {
    method: 'POST',
    headers: ownerHeaders,
  });
  assert.equal(answer.status, 200);
}

/** Returns how many notes of a server have this text. */
async function notesOf(client: SdkClient, text: string): Promise<number> {
  const { notes }: { notes: string[] } = JSON.parse(await client.call('recall'));
  return notes.filter(note => note === text).length;
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;

/** Makes 50 calls, which a breaker that is open for a minute refuses. Resolves with the median of their times in ms. */
async function timeOfRefusals(client: SdkClient): Promise<number> {
  const took: number[] = [];
  for (let call = 0; call < 50; call++) {
    const since = performance.now();
    const { message, data } = await failureOf(client.call('recall'));
    took.push(performance.now() - since);
    assert.match(
      message,
      /victim is not called for now: 3 calls in a row.*did not answer tools\/call within 1 s/,
    );
    assert.ok(isObject(data));
    assert.equal(data['code'], 'HUB_BREAKER_OPEN');
    const retryAfterMs = Number(data['retryAfterMs']);
    assert.ok(retryAfterMs > 30_000 && retryAfterMs <= 60_000, `it says ${retryAfterMs}`);
  }
  return median(took);
}

describeWithEngine('the breaker of two hubs on one Redis', () => {
  let redis: RedisServer;
  beforeAll(async () => void (redis = await startRedis()));
  afterAll(async () => await redis?.[Symbol.asyncDispose]());

  /** Starts two hubs that share a Redis database with no other test. `start` adds further hubs. */
  async function twoHubs(
    database: number,
    recoverySeconds: number,
    ofTwo: readonly [Servers, Servers],
  ) {
    const env = {
      REDIS_URL: `${redis.url}/${database}`,
      CB_FAILURE_THRESHOLD: '3',
      CB_RECOVERY_TIMEOUT: String(recoverySeconds),
    };
    await using opened = new AsyncDisposableStack();
    const start = async (servers: Servers, stack = opened) => {
      const scene = stack.use(await createScene({ servers, env, hasNeighbour: false }));
      const hub = await scene.start();
      await settled(hub, 30_000);
      return { scene, hub };
    };
    const [a, b] = [await start(ofTwo[0]), await start(ofTwo[1])];
    const kept = opened.move();
    return {
      a,
      b,
      start: async (servers: Servers) => await start(servers, kept),
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  describe('that stays open for a minute', () => {
    const victim = inContainer('stateful.mjs', { timeout: 1 });
    const servers = { victim, neighbour: inContainer('echo.mjs') };
    let hubs: Awaited<ReturnType<typeof twoHubs>>;
    let client: SdkClient;
    beforeAll(async () => {
      hubs = await twoHubs(1, 60, [servers, servers]);
      client = await connect(`${hubs.a.hub.url}/mcp/victim`);
    });
    afterAll(async () => {
      await client?.[Symbol.asyncDispose]();
      await hubs?.[Symbol.asyncDispose]();
    });

    test('three timeouts open the breaker, in the other hub as well, and calls fail in less than 5 ms', async () => {
      const { a, b } = hubs;
      // When the test is repeated, the breaker is still open.
      if ((await breakerOf(a.hub, 'victim'))['state'] !== 'closed') await restartVictim(a.hub);
      for (const { hub } of [a, b]) await isShown(hub, 'closed');
      await using other = await connect(`${b.hub.url}/mcp/victim`);
      const [openedHere, openedThere] = await besideNeighbour([a.hub], async () => {
        const opened = [a, b].map(async ({ hub }) => await isShown(hub, 'open'));
        await breakServer(client);
        return await Promise.all(opened);
      });
      const openedMs = Math.max(0, (openedThere ?? 0) - (openedHere ?? 0));
      recovery('a breaker opened in one hub, until it is open in the other', openedMs);
      assert.ok(openedMs < 200, `it took ${openedMs} ms`);
      for (const one of [client, other]) {
        let tookMs = Infinity;
        // A slow refusal is slow each time, a busy machine is not.
        for (let round = 0; round < 5 && tookMs >= 5; round++)
          tookMs = Math.min(tookMs, await timeOfRefusals(one));
        recovery('a call that an open breaker refuses, the median of 50', tookMs);
        assert.ok(tookMs < 5, `a refused call took ${tookMs} ms`);
      }
      await using neighbour = await connect(`${b.hub.url}/mcp/neighbour`);
      assert.equal(await neighbour.call('echo', { text: 'well' }), 'well');
    });

    test('a hub that starts later has the open breaker', async () => {
      const { hub, scene } = await hubs.start({ victim });
      const breaker = await breakerOf(hub, 'victim');
      assert.equal(breaker['state'], 'open');
      assert.match(String(breaker['why']), /did not answer tools\/call within 1 s/);
      await using late = await connect(`${hub.url}/mcp/victim`);
      assert.match((await failureOf(late.call('recall'))).message, /victim is not called for now/);
      await scene.assertTruthful(hub);
    });

    test('a restart of the server in one hub closes the breaker in both', async () => {
      const { a, b } = hubs;
      await restartVictim(b.hub);
      const since = performance.now();
      const closedMs = (await isShown(a.hub, 'closed')) - since;
      recovery('a server restarted by hand, until the other hub lets calls through', closedMs);
      assert.match(await client.call('recall'), /"initialized":1/);
      assert.equal((await breakerOf(b.hub, 'victim'))['state'], 'closed');
      for (const { scene, hub } of [a, b]) await scene.assertTruthful(hub);
    });
  });

  describe('that is tried after two seconds', () => {
    let hubs: Awaited<ReturnType<typeof twoHubs>>;
    const victim = inContainer('stateful.mjs', { timeout: trialTimeout });
    const fragile = inContainer('stateful.mjs', { timeout: 1, restart: 'temporary' });
    beforeAll(async () => void (hubs = await twoHubs(2, 2, [{ victim, fragile }, { victim }])));
    afterAll(async () => await hubs?.[Symbol.asyncDispose]());

    test('of fifty concurrent calls in each hub, the servers receive one', async () => {
      const { a, b } = hubs;
      await using one = await connect(`${a.hub.url}/mcp/victim`);
      await using other = await connect(`${b.hub.url}/mcp/victim`);
      const since = performance.now();
      await breakServer(one);
      await Promise.all([isShown(a.hub, 'half_open'), isShown(b.hub, 'half_open')]);
      const calls = Array.from({ length: 50 }, () => [one, other]).flat();
      const ends = await Promise.all(
        calls.map(async client => {
          const call = client.call('slow', { ms: trialMs, text: 'trial' });
          return await call.catch(async () => await failureOf(call));
        }),
      );
      assert.equal(ends.length, 100);
      const failed = ends.map(end => (typeof end === 'string' ? end : end.message));
      assert.equal(
        failed.filter(end => end === 'slept').length,
        1,
        [...new Set(failed)].join('\n'),
      );
      for (const end of ends) {
        if (typeof end === 'string') continue;
        assert.match(end.message, /victim is not called for now/);
        assert.ok(isObject(end.data) && Number(end.data['retryAfterMs']) >= 1);
        assert.ok(Number(end.data['retryAfterMs']) <= 1_000);
      }
      await Promise.all([isShown(a.hub, 'closed'), isShown(b.hub, 'closed')]);
      recovery(
        'a breaker of 2 s opened by three timeouts of 6 s, until it is closed',
        performance.now() - since,
      );
      assert.equal((await notesOf(one, 'trial')) + (await notesOf(other, 'trial')), 1);
      for (const { scene, hub } of [a, b]) await scene.assertTruthful(hub);
    });

    test('a trial that fails opens the breaker again in both hubs', async () => {
      const { a, b } = hubs;
      await using one = await connect(`${a.hub.url}/mcp/victim`);
      await using other = await connect(`${b.hub.url}/mcp/victim`);
      await breakServer(one);
      await Promise.all([isShown(a.hub, 'half_open'), isShown(b.hub, 'half_open')]);
      const { message } = await failureOf(other.call('slow', { ms: tooLongMs }));
      assert.match(message, /did not answer tools\/call within 6 s/);
      await isShown(a.hub, 'open');
      assert.equal((await breakerOf(a.hub, 'victim'))['failures'], 4);
      await isShown(a.hub, 'half_open');
      assert.match(await one.call('recall'), /"initialized":1/);
      await isShown(b.hub, 'closed');
    });

    test('a server that has died meanwhile is started by the trial', async () => {
      const { a } = hubs;
      await using client = await connect(`${a.hub.url}/mcp/fragile`);
      await breakServer(client);
      await a.scene.container('fragile').kill();
      await becomes(a.hub, 'fragile', 'failed');
      await a.scene.assertTruthful(a.hub);
      await isShown(a.hub, 'half_open', 'fragile');
      const since = performance.now();
      assert.match(await client.call('recall'), /"notes":\[\]/);
      recovery('a dead server, from the call on trial to its answer', performance.now() - since);
      assert.equal((await breakerOf(a.hub, 'fragile'))['state'], 'closed');
      await becomes(a.hub, 'fragile', 'running');
      await a.scene.assertTruthful(a.hub);
    });
  });
});
