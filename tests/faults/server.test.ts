import assert from 'node:assert/strict';
import { afterAll, beforeAll, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, states, until } from '#helpers/hub-process';
import { besideNeighbour } from './neighbour.ts';
import {
  type Scene,
  becomes,
  becomesTruthful,
  createScene,
  described,
  inContainer,
} from './scene.ts';

const servers = {
  // `max_restarts` is high, as repeated tests kill the server again.
  victim: inContainer('stateful.mjs', {
    health_check_interval: 1,
    max_concurrent_calls: 200,
    max_restarts: 10,
  }),
  eater: inContainer('echo.mjs', { resources: { memory: '64m' } }),
  leaver: inContainer('leaves.mjs', { max_restarts: 2, env: { AFTER_MS: '2000' } }),
  crasher: inContainer('exit-at-once.mjs', { max_restarts: 1, auto_start: false }),
  sleeper: inContainer('never-ready.mjs', { auto_start: false, start_timeout: 20 }),
};

/** Prints how long a recovery took. */
const report = (what: string, ms: number) =>
  process.stdout.write(`recovery: ${what}: ${Math.round(ms)} ms\n`);

describeWithEngine('a server that fails', () => {
  let scene: Scene;
  let hub: HubProcess;

  beforeAll(async () => {
    scene = await createScene({ servers });
    hub = await scene.start();
    for (const name of ['victim', 'eater', 'neighbour']) await becomes(hub, name, 'running');
  });

  afterAll(() => scene?.[Symbol.asyncDispose]());

  const recall = async (url = `${hub.url}/mcp/victim`) => {
    await using client = await connect(url);
    return JSON.parse(await client.call('recall'));
  };

  /** Waits until the server runs in another container. Resolves with the time in ms. */
  async function replaced(server: string, before: unknown): Promise<number> {
    const since = performance.now();
    await until(
      () => described(hub, server),
      ({ state, instance }) =>
        state === 'running' && JSON.stringify(instance) !== JSON.stringify(before),
      30_000,
    );
    return performance.now() - since;
  }

  test('killed while idle: it is restarted, with its memory lost and its lists read again', async () => {
    await using watcher = await connect(`${hub.url}/mcp/victim`);
    await watcher.call('remember', { text: 'lost' });
    await watcher.call('grow');
    const { instance } = await described(hub, 'victim');
    const ms = await besideNeighbour([hub], async () => {
      await scene.container('victim').kill();
      return await replaced('victim', instance);
    });
    report('killed while idle', ms);
    assert.deepEqual((await recall()).notes, []);
    assert.equal((await watcher.toolNames()).includes('grown-5'), false);
    // An additional container exists for a moment.
    await becomesTruthful(scene);
  });

  test('killed with 100 calls in flight: each fails at once as retryable', async () => {
    const clients = await Promise.all(
      Array.from({ length: 10 }, () => connect(`${hub.url}/mcp/victim`)),
    );
    const { instance } = await described(hub, 'victim');
    const answered: { ms: number; text: string }[] = [];
    const ms = await besideNeighbour([hub], async () => {
      const calls = clients.flatMap(client =>
        Array.from({ length: 10 }, () => client.call('slow', { ms: 60_000 })),
      );
      await until(
        () => described(hub, 'victim'),
        ({ in_flight: inFlight }) => inFlight === 100,
        10_000,
      );
      const since = performance.now();
      const settled = calls.map(call =>
        call.then(
          text => answered.push({ ms: performance.now() - since, text: `answer ${text}` }),
          (error: unknown) => answered.push({ ms: performance.now() - since, text: String(error) }),
        ),
      );
      await scene.container('victim').kill();
      const [back] = await Promise.all([replaced('victim', instance), ...settled]);
      return back;
    });
    report('killed with 100 calls in flight', ms);
    assert.equal(answered.length, 100);
    for (const { text } of answered) assert.match(text, /victim is gone: ended by SIGKILL/);
    assert.ok(Math.max(...answered.map(one => one.ms)) < 2_500, 'they were told late');
    assert.deepEqual((await recall()).notes, [], 'nothing is replayed');
    await Promise.all(clients.map(client => client[Symbol.asyncDispose]()));
    await becomesTruthful(scene);
  });

  test('killed while starting: the start is tried again', async () => {
    const waiting = fetch(`${hub.url}/mcp/sleeper/tools/list`, { method: 'POST' });
    await becomes(hub, 'sleeper', 'starting');
    await until(
      async () =>
        await scene
          .container('sleeper')
          .inspect()
          .catch(() => undefined),
      found => found?.State.Running === true,
      10_000,
    );
    const since = performance.now();
    await scene.container('sleeper').kill();
    const answer = await waiting;
    assert.equal(answer.status, 503);
    assert.match(await answer.text(), /ended by SIGKILL/);
    await until(
      async () =>
        await scene
          .container('sleeper')
          .inspect()
          .catch(() => undefined),
      found => found?.State.Running === true,
      10_000,
    );
    report('killed while starting, until it starts again', performance.now() - since);
    await fetch(`${hub.url}/servers/sleeper/stop`, { method: 'POST', headers: hub.ownerHeaders });
    await becomesTruthful(scene);
  });

  test('hung: after three missed pings it is killed and restarted', async () => {
    const { instance } = await described(hub, 'victim');
    const ms = await besideNeighbour([hub], async () => {
      await scene.freeze('victim', (await recall()).pid);
      return await replaced('victim', instance);
    });
    report('hung (health_check_interval 1 s)', ms);
    const { last_error: error } = await described(hub, 'victim');
    assert.match(JSON.stringify(error), /did not answer 3 times in a row/);
    await scene.assertTruthful();
  });

  test('busy with a slow call: it is not restarted, although it answers no ping', async () => {
    const { instance } = await described(hub, 'victim');
    await using client = await connect(`${hub.url}/mcp/victim`);
    // The tool keeps the only thread of its server busy, which then answers no ping. The third missed ping would come
    // after 6.5 s at the latest.
    assert.equal(await client.call('busy', { ms: 7_000 }), 'was busy');
    assert.deepEqual((await described(hub, 'victim'))['instance'], instance);
  });

  test('out of memory: its caller gets that as the error, and it is restarted', async () => {
    const { instance } = await described(hub, 'eater');
    await using client = await connect(`${hub.url}/mcp/eater`);
    const ms = await besideNeighbour([hub], async () => {
      await assert.rejects(
        client.call('eat-memory', { MiB: 200 }),
        /out of memory \(limit 64 MiB\)/,
      );
      return await replaced('eater', instance);
    });
    report('out of memory', ms);
    assert.equal(await client.call('echo', { text: 'again' }), 'again');
    await scene.assertTruthful();
  });

  test('exiting each time: it is given up, with the number of restarts', async () => {
    await becomes(hub, 'leaver', 'failed', 60_000);
    const { why, restart_count: restarts } = await described(hub, 'leaver');
    assert.match(String(why), /gave up after 2 restarts: .*exited with code 0/);
    assert.equal(restarts, 2);
    await fetch(`${hub.url}/mcp/crasher/tools/list`, { method: 'POST' });
    await becomes(hub, 'crasher', 'failed', 30_000);
    assert.match(String((await described(hub, 'crasher'))['why']), /exited with code 3/);
    assert.equal((await states(hub))['neighbour'], 'running');
    await scene.assertTruthful();
  });
});
