import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, startHub, until } from '#helpers/hub-process';
import {
  type Scene,
  areWrittenDown,
  becomes,
  becomesTruthful,
  createScene,
  described,
  inContainer,
} from './scene.ts';

const report = (what: string, ms: number) =>
  process.stdout.write(`recovery: ${what}: ${Math.round(ms)} ms\n`);

/** A secret that must not be found in anything that outlives a hub. */
const secret = 'do-not-write-me-down';
const servers = {
  kept: inContainer('stateful.mjs', { env: { TOKEN: '${FAULTS_TOKEN}' } }),
  memory: {
    package: '@modelcontextprotocol/server-memory@2026.8.31',
    auto_start: true,
  },
  own: inContainer('stateful.mjs', { instance: 'session', auto_start: false }),
};
const env = { FAULTS_TOKEN: secret };

describeWithEngine('a hub that ends', () => {
  test('by SIGTERM: every call is answered, and no container is left', async () => {
    await using scene = await createScene({ servers: { kept: servers.kept }, env });
    const hub = await scene.start();
    for (const name of ['kept', 'neighbour']) await becomes(hub, name, 'running');
    await using client = await connect(`${hub.url}/mcp/kept`);
    const call = client.call('slow', { ms: 60_000 }).then(
      () => 'answered',
      (error: unknown) => String(error),
    );
    await until(
      () => described(hub, 'kept'),
      ({ in_flight: inFlight }) => inFlight === 1,
      10_000,
    );
    assert.equal(await hub.stop(), 0);
    assert.match(await call, /stopping|HUB_SHUTTING_DOWN/);
    const left = await scene.docker.listContainers({
      all: true,
      filters: JSON.stringify({ label: [`com.docker.compose.project=${scene.hubName}`] }),
    });
    assert.deepEqual(left, []);
  });

  test('by kill -9, with calls in flight: the next hub continues with the same processes', async () => {
    await using scene = await createScene({ servers, env });
    const first = await scene.start();
    await Promise.all(['kept', 'memory', 'neighbour'].map(name => becomes(first, name, 'running')));
    const before = await connect(`${first.url}/mcp/kept`);
    await before.call('remember', { text: 'kept' });
    await before.call('grow');
    const was: { pid: number } = JSON.parse(await before.call('recall'));
    const memory = await connect(`${first.url}/mcp/memory`);
    const entities = [{ name: 'hub', entityType: 'thing', observations: ['was killed'] }];
    await memory.call('create_entities', { entities });
    await using own = await connect(`${first.url}/mcp/own`);
    await own.call('remember', { text: 'of a session' });
    const { instance } = await described(first, 'kept');
    const inFlight = Array.from({ length: 20 }, () =>
      before.call('slow', { ms: 5_000 }).then(
        text => `answered ${text}`,
        () => 'the connection broke',
      ),
    );
    await until(
      () => described(first, 'kept'),
      ({ in_flight: calls }) => calls === 20,
      4_000,
    );
    await areWrittenDown(scene, ['kept', 'memory', 'neighbour']);
    await first.kill();
    assert.ok((await Promise.all(inFlight)).every(end => end === 'the connection broke'));

    const since = performance.now();
    const second = await scene.start();
    await becomes(second, 'kept', 'running');
    report('hub killed, until the next runs its servers', performance.now() - since);
    assert.deepEqual((await described(second, 'kept'))['instance'], instance);
    await using after = await connect(`${second.url}/mcp/kept`);
    const is = JSON.parse(await after.call('recall'));
    assert.deepEqual(is, { pid: was.pid, initialized: 1, notes: ['kept'] });
    assert.ok((await after.toolNames()).includes('grown-5'), 'its lists are read again');
    await becomes(second, 'memory', 'running');
    await using again = await connect(`${second.url}/mcp/memory`);
    assert.match(await again.call('read_graph'), /was killed/);
    assert.equal((await described(second, 'kept'))['restart_count'], 0);
    await becomes(second, 'neighbour', 'running');
    // The container of a session that has ended is removed.
    await becomesTruthful(scene);

    await second.kill();
    const third = await scene.start();
    await Promise.all(['kept', 'memory', 'neighbour'].map(name => becomes(third, name, 'running')));
    await using last = await connect(`${third.url}/mcp/kept`);
    assert.deepEqual(JSON.parse(await last.call('recall')), is, 'and so does the one after it');
    await scene.assertTruthful();
  });

  describe('containers of a hub after kill -9', () => {
    let scene: Scene;
    let last: HubProcess | undefined;
    beforeAll(async () => {
      scene = await createScene({ servers: { kept: servers.kept }, env, hasNeighbour: false });
    });
    // Two hubs on one data folder would take each other's containers.
    afterEach(async () => await last?.kill());
    afterAll(async () => await scene?.[Symbol.asyncDispose]());

    const startNext = async () => (last = await scene.start());

    /** Starts the next hub, which adopts the running container, and kills it. Resolves with the instance. */
    async function startAndKill(): Promise<unknown> {
      const hub = await startNext();
      await becomes(hub, 'kept', 'running');
      await areWrittenDown(scene, ['kept']);
      const { instance } = await described(hub, 'kept');
      await hub.kill();
      return instance;
    }

    test('and its data folder contain no value of an environment variable', async () => {
      await startAndKill();
      for (const file of await readdir(scene.dataDir, { recursive: true, withFileTypes: true })) {
        if (!file.isFile()) continue;
        const content = await readFile(join(file.parentPath, file.name), 'utf8');
        assert.equal(content.includes(secret), false, file.name);
      }
      const found = await scene.container('kept').inspect();
      assert.equal(JSON.stringify(found.Config.Labels).includes(secret), false);
    });

    test('that were paused do not answer, and are replaced at once', async () => {
      await startAndKill();
      await scene.container('kept').pause();
      const second = await startNext();
      await becomes(second, 'kept', 'running');
      const lines = second.log().split('\n');
      const told = lines.filter(line => /"server":"kept"/.test(line));
      assert.ok(told.some(line => /earlier run does not answer.*it is replaced/.test(line)));
      assert.doesNotMatch(told.join('\n'), /starting again in|[0-9a-f]{64}/);
      await scene.assertTruthful(second);
    });

    test('whose entry has changed are replaced', async () => {
      const instance = await startAndKill();
      await using second = await startHub({
        config: { servers: { kept: inContainer('stateful.mjs', { env: { TOKEN: 'another' } }) } },
        dataDir: scene.dataDir,
        env: { HUB_NAME: scene.hubName },
      });
      await becomes(second, 'kept', 'running');
      assert.notDeepEqual((await described(second, 'kept'))['instance'], instance);
      await becomesTruthful(scene, second);
    });
  });
});

describe('a hub that cannot start', () => {
  test('because its port is in use: it says so, and nothing is started', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const address = taken.address();
    assert.ok(typeof address === 'object' && address);
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-port-'));
    const args = ['-c', `echo started > ${join(folder, 'trace')}`];
    const server = { command: '/bin/sh', args, runtime: 'process', auto_start: true };
    await assert.rejects(
      startHub({
        config: { servers: { server } },
        port: address.port,
      }),
      new RegExp(`${address.port}.*(taken|in use|ROUTER_PORT)`, 's'),
    );
    assert.deepEqual(await readdir(folder), []);
    await rm(folder, { recursive: true });
    taken.close();
  });
});
