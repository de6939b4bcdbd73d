import assert from 'node:assert/strict';
import { glob, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { type SdkClient, connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, states, until } from '#helpers/hub-process';
import { besideNeighbour } from './neighbour.ts';
import {
  type Scene,
  becomes,
  becomesTruthful,
  breakerOf,
  createScene,
  described,
  inContainer,
  recovery,
} from './scene.ts';

const hourMs = 3_600_000;
/** Interval in which libfaketime reads its file, in seconds. */
const cacheSeconds = 1;
const servers = {
  victim: inContainer('stateful.mjs', { timeout: 1, health_check_interval: 1 }),
  own: inContainer('stateful.mjs', { instance: 'session', auto_start: false }),
  idler: inContainer('stateful.mjs', { idle_stop: 1, auto_start: false }),
};

/** Returns the path of libfaketime on Debian and similar systems; undefined if it is not installed. */
async function findLibrary(): Promise<string | undefined> {
  for await (const found of glob('/usr/lib{,64}/{*/,}faketime/libfaketimeMT.so.1')) return found;
  return undefined;
}

const library = await findLibrary();

function jumpingClock(): void {
  let folder: string;
  let scene: Scene;
  let hub: HubProcess;
  let client: SdkClient;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-clock-'));
    await writeFile(join(folder, 'clock'), '+0\n');
    scene = await createScene({
      servers,
      env: {
        LD_PRELOAD: library ?? '',
        FAKETIME_TIMESTAMP_FILE: join(folder, 'clock'),
        FAKETIME_CACHE_DURATION: String(cacheSeconds),
        // Like a machine whose clock is set: the monotonic clock is not affected.
        FAKETIME_DONT_FAKE_MONOTONIC: '1',
        DONT_FAKE_MONOTONIC: '1',
        NO_FAKE_STAT: '1',
        CB_FAILURE_THRESHOLD: '3',
        CB_RECOVERY_TIMEOUT: '2',
      },
    });
    hub = await scene.start();
    for (const name of ['victim', 'neighbour']) await becomes(hub, name, 'running');
    client = await connect(`${hub.url}/mcp/victim`);
    await client.call('remember', { text: 'of before' });
  });

  afterAll(async () => {
    await client?.[Symbol.asyncDispose]();
    await scene?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  /** Returns how far the hub's wall clock is off in ms, from the time of its last health check of a server. */
  async function offMs(): Promise<number> {
    const { health } = await described(hub, 'victim');
    return isObject(health) ? Date.parse(String(health['asked_at'])) - Date.now() : Number.NaN;
  }

  const set = async (hours: number) =>
    await writeFile(join(folder, 'clock'), `${hours < 0 ? '' : '+'}${hours}h\n`);

  /** Sets the hub's wall clock, and waits until the hub has checked a server since. */
  async function jump(hours: number): Promise<void> {
    await set(hours);
    await until(offMs, ms => Math.abs(ms - hours * hourMs) < hourMs / 60, 15_000);
  }

  const openBreaker = async () => {
    const ends = await Promise.allSettled([1, 2, 3].map(() => client.call('slow', { ms: 60_000 })));
    for (const end of ends) {
      assert.ok(end.status === 'rejected');
      assert.match(String(end.reason), /did not answer tools\/call within 1 s/);
    }
    assert.equal((await breakerOf(hub, 'victim'))['state'], 'open');
  };

  const recall = async (of: SdkClient): Promise<object> => JSON.parse(await of.call('recall'));

  for (const [name, hours] of [
    ['an hour ahead', 1],
    ['an hour back', -1],
  ] as const)
    test(
      `${name}, and right again: servers, sessions, breakers and timers are not affected`,
      { timeout: 90_000 },
      async () => {
        const transport = new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/own`));
        const session = new Client({ name: 'of its own', version: '1.0.0' });
        await using ends = new AsyncDisposableStack();
        ends.defer(async () => {
          await transport.terminateSession();
          await session.close();
        });
        await session.connect(transport);
        const recallOwn = async () => await session.callTool({ name: 'recall' });
        await session.callTool({ name: 'remember', arguments: { text: 'of this session' } });
        const [kept, keptOwn] = [await recall(client), await recallOwn()];
        const { instance } = await described(hub, 'victim');
        await besideNeighbour([hub], async () => {
          const called = performance.now();
          await openBreaker();
          const opened = performance.now();
          await set(hours);
          // The breaker half-opens by the time that has really passed, whatever the clock shows.
          await until(
            () => breakerOf(hub, 'victim'),
            ({ state }) => state === 'half_open',
            10_000,
          );
          const openMs = performance.now() - opened;
          recovery('a breaker of 2 s whose hub has its clock set, until it is tried', openMs);
          assert.ok(openMs < 4_000, `it was open for ${openMs} ms`);
          // It opens when the calls have timed out after 1 s. A busy machine notices that later.
          const sinceCallsMs = openMs + opened - called;
          assert.ok(sinceCallsMs > 2_900, `it was tried ${sinceCallsMs} ms after the calls`);
          for (const to of [hours, 0]) {
            await jump(to);
            assert.deepEqual(await recall(client), kept, 'the same process, in the same session');
            assert.equal((await breakerOf(hub, 'victim'))['state'], 'closed');
            assert.deepEqual(await recallOwn(), keptOwn);
          }
        });
        await using idle = await connect(`${hub.url}/mcp/idler`);
        await idle.call('recall');
        assert.equal((await states(hub))['idler'], 'running');
        await jump(hours);
        const since = performance.now();
        await becomes(hub, 'idler', 'stopped');
        assert.ok(performance.now() - since < 10_000, 'it was stopped late');
        await jump(0);
        const { instance: is, restart_count: restarts, health } = await described(hub, 'victim');
        assert.deepEqual(is, instance);
        assert.equal(restarts, 0);
        assert.ok(isObject(health) && health['misses'] === 0);
        assert.deepEqual(await recall(client), kept);
        assert.deepEqual(await recallOwn(), keptOwn);
        assert.equal((await fetch(`${hub.url}/health`)).status, 200);
        await ends.disposeAsync();
        await becomesTruthful(scene);
      },
    );
}

if (library === undefined)
  describe.skip('a clock that jumps (skipped: libfaketime is not installed)', jumpingClock);
else describeWithEngine('a clock that jumps', jumpingClock);
