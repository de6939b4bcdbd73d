import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { isLong } from '#helpers/length';
import { type HubProcess, getJson, states, until } from '#helpers/hub-process';
import { becomes, createScene, described, inContainer } from './scene.ts';
import {
  type SecondEngine,
  type SecondEngines,
  prepareSecondEngines,
  secondEngineProblem,
} from './second-engine.ts';

const image = 'node:24-bookworm-slim';
const problem = await secondEngineProblem();
const report = (what: string, ms: number) =>
  process.stdout.write(`recovery: ${what}: ${Math.round(ms)} ms\n`);

const servers = { victim: inContainer('stateful.mjs') };

// Tests run concurrently in pairs: each has its own engine and hub, and waits most of the time.
function lostEngine(): void {
  let engines: SecondEngines;

  beforeAll(async () => void (engines = await prepareSecondEngines(image)));
  afterAll(async () => await engines?.[Symbol.asyncDispose]());

  async function begin(liveRestore: boolean) {
    await using opened = new AsyncDisposableStack();
    const engine = opened.use(await engines.start({ liveRestore }));
    const scene = opened.use(await createScene({ servers, engine }));
    const hub = await scene.start();
    for (const name of ['victim', 'neighbour']) await becomes(hub, name, 'running');
    const kept = opened.move();
    return { hub, engine, scene, [Symbol.asyncDispose]: () => kept.disposeAsync() };
  }

  /** Ends the engine, and checks that the hub reports the server as unreachable. */
  async function lose(hub: HubProcess, lost: SecondEngine, signal: 'SIGTERM' | 'SIGKILL') {
    await using client = await connect(`${hub.url}/mcp/victim`);
    await client.call('remember', { text: 'before' });
    const call = client.call('slow', { ms: 60_000 }).catch((error: unknown) => String(error));
    await until(
      () => described(hub, 'victim'),
      ({ in_flight: inFlight }) => inFlight === 1,
      5_000,
    );
    await lost.end(signal);
    await becomes(hub, 'victim', 'unreachable');
    assert.match(String(await call), /victim is (out of reach|gone)/);
    const health = await fetch(`${hub.url}/health`);
    assert.equal(health.status, 503);
    assert.match(await health.text(), /no Docker engine answers/);
    const refused = await fetch(`${hub.url}/mcp/victim/tools/list`, { method: 'POST' });
    assert.match(await refused.text(), /HUB_ENGINE_UNREACHABLE/);
  }

  async function recall(
    hub: HubProcess,
  ): Promise<{ pid: number; notes: string[]; initialized: 1 }> {
    await using client = await connect(`${hub.url}/mcp/victim`);
    return JSON.parse(await client.call('recall'));
  }

  const liveRestored = (signal: 'SIGTERM' | 'SIGKILL') =>
    test.concurrent(
      `with live-restore (${signal}): the hub continues with the same processes`,
      { timeout: 120_000 },
      async () => {
        await using begun = await begin(true);
        const { hub, engine, scene } = begun;
        const { pid } = await recall(hub);
        const { instance } = await described(hub, 'victim');
        await lose(hub, engine, signal);
        await engine.start();
        report(
          `engine restarted with live-restore (${signal})`,
          await becomes(hub, 'victim', 'running'),
        );
        assert.deepEqual(await recall(hub), { pid, initialized: 1, notes: ['before'] });
        assert.deepEqual((await described(hub, 'victim'))['instance'], instance);
        await becomes(hub, 'neighbour', 'running');
        await scene.assertTruthful();
      },
    );

  const startedAgain = (signal: 'SIGTERM' | 'SIGKILL') =>
    test.concurrent(
      `without live-restore (${signal}): the servers are started again`,
      { timeout: 120_000 },
      async () => {
        await using begun = await begin(false);
        const { hub, engine, scene } = begun;
        await lose(hub, engine, signal);
        await engine.start();
        report(
          `engine restarted without live-restore (${signal})`,
          await becomes(hub, 'victim', 'running'),
        );
        assert.deepEqual((await recall(hub)).notes, []);
        await becomes(hub, 'neighbour', 'running');
        assert.equal((await fetch(`${hub.url}/health`)).status, 200);
        await scene.assertTruthful();
      },
    );

  describe.for(['SIGTERM', 'SIGKILL'] as const)('by %s', signal => {
    // With live restore, containers survive either signal, and the hub's connections to them break in the same way.
    if (isLong || signal === 'SIGKILL') liveRestored(signal);
    startedAgain(signal);
  });

  test(
    'away when the hub starts: the hub answers, and servers start when the engine is there',
    { timeout: 120_000 },
    async () => {
      await using begun = await begin(false);
      const { hub, engine, scene } = begun;
      await hub.kill();
      await engine.end('SIGTERM');
      const next = await scene.start();
      await engine.start();
      await becomes(next, 'victim', 'running');
      await becomes(next, 'neighbour', 'running');
      assert.deepEqual(Object.keys(await states(next)).toSorted(), ['neighbour', 'victim']);
      assert.ok(await getJson(next, '/health'));
      await scene.assertTruthful();
    },
  );
}

if (problem === undefined) describeWithEngine('an engine that goes away', lostEngine);
else describe.skip(`an engine that goes away (skipped: ${problem})`, lostEngine);
