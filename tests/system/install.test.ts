import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { afterAll, test } from 'vitest';
import { HubError, isObject } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { createInstallHub } from '../installs/hub.ts';
import { createHub, docker, nodeImage, until } from '../runtimes/docker/hub.ts';

const buildMs = 240_000;
/** Source of a server with one tool. */
const listing = `
  const tools = [{ name: 'read_graph', inputSchema: { type: 'object' } }];
  const introduction = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'memory', version: '1' } };
  const results = { initialize: introduction, ping: {}, 'tools/list': { tools } };
  require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
    const { id, method } = JSON.parse(line);
    const answer = results[method] ? { result: results[method] } : { error: { code: -32601, message: method } };
    if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });`;
/** Returns a version that no other test has built. npm ignores the text after the `+`. */
const ownVersion = (version: string) => `${version}+${randomUUID().slice(0, 8)}`;

function dockerHub() {
  const engine = createHub();
  const hub = createInstallHub({ docker: engine });
  return {
    ...hub,
    engine,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await engine[Symbol.asyncDispose]();
    },
  };
}

async function failureOf(work: Promise<unknown>): Promise<HubError> {
  const error = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  assert.ok(error instanceof HubError, String(error));
  return error;
}

const imagesOf = async (spec: string) => {
  const filters = JSON.stringify({ label: [`io.agenthub.package=${spec}`] });
  return await docker.listImages({ filters });
};
const volumesOf = async (hubId: string) => {
  const filters = JSON.stringify({ label: [`io.agenthub.hub=${hubId}`] });
  return (await docker.listVolumes({ filters })).Volumes.map(({ Name }) => Name);
};

describeWithEngine('an install in containers', () => {
  const built: string[] = [];
  afterAll(async () => {
    for (const spec of built)
      for (const { Id } of await imagesOf(spec)) await docker.getImage(Id).remove({ force: true });
  });

  test(
    'builds, tries out, writes; a removal with purge takes all of it but what another server has',
    { timeout: buildMs },
    async () => {
      await using hub = dockerHub();
      // json5 has no dependencies, and is built in a tenth of the time of a server.
      const spec = `json5@${ownVersion('2.2.3')}`;
      const install = (name: string) => {
        const volumes = { [`${name}-data`]: '/data' };
        const rest = { command: 'node', args: ['-e', listing], volumes };
        return hub.install({ source: { package: spec }, name, rest });
      };
      built.push(spec);
      const installed = await install('memory');
      assert.equal(installed.name, 'memory');
      assert.equal(installed['package'], spec);
      assert.match(textOf(installed['image']), /^agenthub\/npm-/);
      assert.ok(isObject(installed['tools']) && Array.isArray(installed['tools']['names']));
      assert.ok(installed['tools']['names'].includes('read_graph'));
      assert.ok(hub.progress.some(({ step, text }) => step === 'build' && /^added \d+/.test(text)));
      assert.deepEqual(await hub.engine.leftovers(), [], 'nothing of the trial is left');
      const volume = `${hub.engine.hubName}-memory-data`;
      assert.deepEqual(await volumesOf(hub.engine.id), [volume]);

      await install('second');
      const running = await hub.servers.get('memory')?.ready();
      const container = textOf(running?.instance.about['containerName']);
      const first = await hub.installs.remove('memory', { purge: true });
      const shared = {
        kind: 'image',
        name: installed['image'],
        why: 'the server second has it too',
      };
      assert.deepEqual(first['left'], [shared]);
      assert.deepEqual(kinds(first['removed']), ['entry', 'instance', 'volume']);
      assert.ok(JSON.stringify(first['removed']).includes(container));
      assert.equal((await imagesOf(spec)).length, 1, 'the second server has it');
      assert.deepEqual(await hub.engine.leftovers(), []);

      await hub.write('third', { package: spec });
      const second = await hub.installs.remove('second', { purge: true });
      assert.deepEqual(kinds(second['removed']), ['entry', 'volume']);
      assert.deepEqual(second['left'], [{ ...shared, why: 'the server third has it too' }]);

      const third = await hub.installs.remove('third', { purge: true });
      assert.deepEqual(kinds(third['removed']), ['entry', 'image'], 'it is not in force');
      assert.equal((await imagesOf(spec)).length, 0);
      assert.deepEqual(await volumesOf(hub.engine.id), []);
    },
  );

  test(
    'names the version that is the newest of a package without one',
    { timeout: buildMs },
    async () => {
      await using hub = dockerHub();
      await hub.install({ source: { package: 'pypi:mcp-server-time' } });
      assert.match(
        textOf(hub.entries.get('time')?.['package']),
        /^uvx:mcp-server-time==\d+\.\d+\.\d+$/,
      );
      const failed = await failureOf(
        hub.install({ source: { package: '@agenthub/no-such-thing-9d' } }),
      );
      assert.equal(failed.code, 'HUB_PACKAGE_UNKNOWN');
      assert.match(failed.message, /registry\.npmjs\.org.*404/);
    },
  );

  test('shows why npm did not install it, and leaves nothing', { timeout: buildMs }, async () => {
    await using hub = dockerHub();
    const absent = await failureOf(
      hub.install({ source: { package: '@agenthub/no-such-thing-9d@1.0.0' } }),
    );
    assert.equal(absent.code, 'HUB_IMAGE_BUILD_FAILED');
    assert.match(absent.message, /npm error code E404/);
    assert.equal(absent.data['step'], 'build');
    assert.equal(hub.entries.size, 0);
    assert.deepEqual(await hub.engine.leftovers(), []);
    assert.deepEqual(await volumesOf(hub.engine.id), []);
  });

  test('that is given up leaves no image, container or volume', { timeout: buildMs }, async () => {
    await using hub = dockerHub();
    // json5 has no dependencies, and never answers as a server: it reads stdin to its end.
    const rest = { volumes: [{ name: 'kept', target: '/kept' }] };
    for (const line of [/^added \d+ package/, /^it is started once/]) {
      const spec = `json5@${ownVersion('2.2.3')}`;
      built.push(spec);
      const hangUp = new AbortController();
      const failed = failureOf(hub.install({ source: { package: spec }, rest }, hangUp.signal));
      await until(
        'the install has come that far',
        () => hub.progress.some(({ text }) => line.test(text)),
        buildMs,
      );
      hangUp.abort();
      assert.equal((await failed).code, 'HUB_CALL_CANCELLED');
      assert.equal((await imagesOf(spec)).length, 0);
      // The engine removes the network of a build once the aborted step has ended.
      await until(
        'nothing is left',
        async () => (await hub.engine.leftovers()).length === 0,
        10_000,
      );
      assert.deepEqual(await volumesOf(hub.engine.id), []);
      assert.equal(hub.entries.size, 0);
      hub.progress.length = 0;
    }
  });

  test(
    'of an image that is no server, or not there, shows what it says',
    { timeout: buildMs },
    async () => {
      await using hub = dockerHub();
      const absent = await failureOf(
        hub.install({ source: { package: 'docker:agenthub-none/absent:1' } }),
      );
      assert.ok(['HUB_IMAGE_MISSING', 'HUB_REGISTRY_UNREACHABLE'].includes(absent.code));
      assert.equal(absent.data['step'], 'pull');
      const junk = await failureOf(
        hub.install({
          source: { package: `docker:${nodeImage}` },
          args: [
            'node',
            '-e',
            'console.log("hello, world"); console.error("boom"); process.exit(3)',
          ],
        }),
      );
      assert.equal(junk.code, 'HUB_SERVER_START_FAILED');
      assert.match(junk.message, /hello, world/);
      assert.match(String(junk.data['output']), /boom/);
      const networkless = await failureOf(
        hub.install({
          source: { package: `docker:${nodeImage}` },
          args: [
            'node',
            '-e',
            'fetch("https://example.com").catch(e => { console.error(String(e.cause)); process.exit(1) })',
          ],
        }),
      );
      assert.match(networkless.message, /add "network": "bridge"/);
      assert.deepEqual(await hub.engine.leftovers(), []);
      assert.equal(
        (await docker.listImages({ filters: JSON.stringify({ reference: [nodeImage] }) })).length,
        1,
      );
    },
  );
});

function textOf(value: unknown): string {
  assert.ok(typeof value === 'string');
  return value;
}

function kinds(removed: unknown): readonly unknown[] {
  assert.ok(Array.isArray(removed));
  return removed.map(one => isObject(one) && one['kind']);
}
