import assert from 'node:assert/strict';
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, states, until } from '#helpers/hub-process';
import { type Scene, becomes, createScene, described, inContainer } from './scene.ts';
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

function lostEngine(): void {
  let engines: SecondEngines;
  let engine: SecondEngine | undefined;
  let scene: Scene | undefined;

  beforeAll(async () => void (engines = await prepareSecondEngines(image)));
  afterAll(async () => await engines[Symbol.asyncDispose]());
  afterEach(async () => {
    await scene?.[Symbol.asyncDispose]();
    await engine?.[Symbol.asyncDispose]();
  });

  async function begin(liveRestore: boolean): Promise<{ hub: HubProcess; engine: SecondEngine }> {
    engine = await engines.start({ liveRestore });
    scene = await createScene({ servers, engine });
    const hub = await scene.start();
    for (const name of ['victim', 'neighbour']) await becomes(hub, name, 'running');
    return { hub, engine };
  }

  /** Ends the engine, and says how the hub takes it. */
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

  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    test(
      `with live-restore (${signal}): the hub goes on with the same processes`,
      { timeout: 120_000 },
      async () => {
        const { hub, engine: lost } = await begin(true);
        const { pid } = await recall(hub);
        const { instance } = await described(hub, 'victim');
        await lose(hub, lost, signal);
        await lost.start();
        report(
          `engine restarted with live-restore (${signal})`,
          await becomes(hub, 'victim', 'running'),
        );
        assert.deepEqual(await recall(hub), { pid, initialized: 1, notes: ['before'] });
        assert.deepEqual((await described(hub, 'victim'))['instance'], instance);
        await becomes(hub, 'neighbour', 'running');
        await scene?.assertTruthful();
      },
    );

    test(
      `without it (${signal}): its servers are started again`,
      { timeout: 120_000 },
      async () => {
        const { hub, engine: lost } = await begin(false);
        await lose(hub, lost, signal);
        await lost.start();
        report(
          `engine restarted without live-restore (${signal})`,
          await becomes(hub, 'victim', 'running'),
        );
        assert.deepEqual((await recall(hub)).notes, []);
        await becomes(hub, 'neighbour', 'running');
        assert.equal((await fetch(`${hub.url}/health`)).status, 200);
        await scene?.assertTruthful();
      },
    );
  }

  test(
    'away when the hub starts: the hub answers, and all comes when it is there',
    { timeout: 120_000 },
    async () => {
      const { hub, engine: lost } = await begin(false);
      await hub.kill();
      await lost.end('SIGTERM');
      const next = await scene?.start();
      assert.ok(next);
      await lost.start();
      await becomes(next, 'victim', 'running');
      await becomes(next, 'neighbour', 'running');
      assert.deepEqual(Object.keys(await states(next)).toSorted(), ['neighbour', 'victim']);
      assert.ok(await getJson(next, '/health'));
      await scene?.assertTruthful();
    },
  );
}

if (problem === undefined) describeWithEngine('an engine that goes away', lostEngine);
else describe.skip(`an engine that goes away (skipped: ${problem})`, lostEngine);
