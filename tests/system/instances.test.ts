import assert from 'node:assert/strict';
import { mkdtempDisposable, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { test } from 'vitest';
import { isObject } from '#core';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, startHub, until } from '#helpers/hub-process';
import { docker } from '../runtimes/docker/hub.ts';

const fixtures = join(import.meta.dirname, '..', 'fixtures');

const container = (file: string, more: object = {}) => ({
  image: 'node:24-bookworm-slim',
  command: 'node',
  args: [`/fixtures/${file}`],
  mounts: [{ source: fixtures, target: '/fixtures' }],
  ...more,
});

/** Returns the labels of a hub's containers, by name without the prefix of the hub. */
async function containersOf(hubName: string) {
  const filters = JSON.stringify({ label: [`com.docker.compose.project=${hubName}`] });
  const found = await docker.listContainers({ all: true, filters });
  return new Map(
    found.map(({ Names: [name = ''], Labels }) => [name.slice(hubName.length + 2), Labels]),
  );
}

const networksOf = async (hubName: string) =>
  (await docker.listNetworks()).map(({ Name }) => Name).filter(name => name.includes(hubName));

/** Returns the names of all containers of the hub that were created during `work`. */
async function createdWhile(
  hubName: string,
  work: () => Promise<void>,
): Promise<readonly string[]> {
  const project = 'com.docker.compose.project';
  // Subscribe before the work: the engine stores only its last few hundred events, of all kinds.
  const stream = await docker.getEvents({
    filters: JSON.stringify({ event: ['create'], label: [`${project}=${hubName}`] }),
  });
  await work();
  // Events come in order: after the one of this container all earlier ones have arrived.
  const name = `${hubName}-last`;
  const last = await docker.createContainer({
    name,
    Image: 'node:24-bookworm-slim',
    Labels: { [project]: hubName },
  });
  await last.remove();
  let text = '';
  for await (const chunk of stream) {
    text += chunk.toString();
    if (text.includes(last.id) && text.endsWith('\n')) break;
  }
  return text
    .split('\n')
    .filter(line => line !== '')
    .map(line => String(JSON.parse(line).Actor.Attributes.name))
    .filter(created => created !== name)
    .map(created => created.slice(hubName.length + 1));
}

async function connect(url: string) {
  const client = new Client({ name: 'agenthub-tests', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(url));
  await client.connect(transport);
  return {
    async call(name: string): Promise<unknown> {
      const { content } = await client.callTool({ name, arguments: {} });
      const [part] = Array.isArray(content) ? content : [];
      return JSON.parse(part?.type === 'text' ? part.text : 'null');
    },
    async end() {
      await transport.terminateSession();
      await client.close();
    },
  };
}

const serverOf = async (hub: HubProcess, name: string) => {
  const server = await getJson(hub, `/servers/${name}`);
  return isObject(server) ? server : assert.fail(String(server));
};

const isRunning = (server: { readonly [key: string]: unknown }) => server['state'] === 'running';

describeWithEngine('servers in containers', () => {
  test(
    'each session has a container of its own, which goes with it',
    { timeout: 120_000 },
    async () => {
      const hubName = `own-${process.pid}`;
      await using hub = await startHub({
        config: {
          servers: {
            who: container('servers/who.mjs', {
              instance: 'session',
              auto_start: true,
              network: 'bridge',
              volumes: { notes: '/data' },
            }),
          },
        },
        env: { HUB_NAME: hubName },
      });
      await until(() => serverOf(hub, 'who'), isRunning, 60_000);
      const clients = await Promise.all([1, 2].map(() => connect(`${hub.url}/mcp/who`)));
      const answers = await Promise.all(clients.map(client => client.call('who')));
      for (const answer of answers)
        assert.ok(isObject(answer) && isObject(answer['clientInfo']), 'initialised by its client');
      const containers = await containersOf(hubName);
      assert.deepEqual([...containers.keys()].toSorted(), ['.egress', 'who', 'who.1', 'who.2']);
      assert.equal(containers.get('who.2')?.['io.agenthub.instance'], '2');
      assert.deepEqual(
        [...containers.values()]
          .map(labels => labels['com.docker.compose.container-number'] ?? '')
          .toSorted(),
        ['1', '1', '2', '3'],
      );
      assert.equal((await serverOf(hub, 'who'))['instances'], 2);

      await clients[0]?.end();
      await until(
        () => containersOf(hubName),
        left => left.size === 3,
        20_000,
      );
      await clients[1]?.end();
      await until(
        () => containersOf(hubName),
        left => left.size === 2,
        20_000,
      );
      // The network of an instance is removed after its container.
      const networks = await until(
        () => networksOf(hubName),
        left => left.length === 2,
        20_000,
      );
      assert.deepEqual(networks.toSorted(), [`${hubName}-.egress`, `${hubName}-who`]);
      await docker.getVolume(`${hubName}-notes`).inspect();
      await hub.stop();
      await docker.getVolume(`${hubName}-notes`).remove();
      assert.equal((await containersOf(hubName)).size, 0);
    },
  );

  test(
    'an era is found out once, by a container that does not stay',
    { timeout: 120_000 },
    async () => {
      const hubName = `era-${process.pid}`;
      await using folder = await mkdtempDisposable(join(tmpdir(), 'agenthub-era-'));
      const era = (name: string) =>
        container('conformance/server.mjs', {
          args: ['/fixtures/conformance/server.mjs', '--era', name],
          auto_start: true,
        });
      const run = () =>
        createdWhile(hubName, async () => {
          await using hub = await startHub({
            config: { servers: { old: era('2025'), new: era('2026'), again: era('2026') } },
            env: { HUB_NAME: hubName },
            dataDir: folder.path,
          });
          for (const [name, spoken] of [
            ['old', 'legacy'],
            ['new', 'modern'],
            ['again', 'modern'],
          ] as const) {
            const server = await until(() => serverOf(hub, name), isRunning, 60_000);
            assert.equal(server['era'], spoken);
          }
          assert.deepEqual([...(await containersOf(hubName)).keys()].toSorted(), [
            'again',
            'new',
            'old',
          ]);
        });
      const first = await run();
      assert.equal(first.length, 5, `one more for each of two programs: ${first.join(', ')}`);
      assert.equal(first.filter(name => name.endsWith('.probe')).length, 2);
      const kept: unknown = JSON.parse(await readFile(join(folder.path, 'eras.json'), 'utf8'));
      assert.deepEqual(Object.values(Object(kept)).map(String).toSorted(), ['legacy', 'modern']);
      const second = await run();
      assert.deepEqual(second.toSorted(), ['again', 'new', 'old']);
    },
  );
});
