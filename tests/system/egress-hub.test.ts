import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, settled, startHub, until } from '#helpers/hub-process';
import { docker } from '../runtimes/docker/hub.ts';
import { createWorld } from './egress-scene.ts';

const hubName = `egress-${process.pid}`;
const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');
const ws = {
  source: join(import.meta.dirname, '../../node_modules/ws'),
  target: '/node_modules/ws',
};
const fetcher = (allow: readonly string[], more: object = {}) => ({
  image: 'node:24-bookworm-slim',
  command: 'node',
  args: ['/fixtures/fetcher.mjs'],
  mounts: [{ source: fixtures, target: '/fixtures' }, ws],
  network: { allow },
  auto_start: true,
  ...more,
});
const first = 'http://api.test/';
const second = 'http://www.api.test/';

describeWithEngine('the hub', () => {
  let hub: HubProcess;
  let world: Awaited<ReturnType<typeof createWorld>>;

  let dataDir: string;
  const config = {
    servers: {
      shared: fetcher(['api.test']),
      own: fetcher(['www.api.test'], { instance: 'session' }),
      lasting: fetcher(['api.test']),
    },
  };
  const start = () => startHub({ config, dataDir, env: { HUB_NAME: hubName } });

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'agenthub-egress-'));
    hub = await start();
    world = await createWorld();
    const states = await settled(hub, 60_000);
    assert.deepEqual(new Set(Object.values(states)), new Set(['running']), hub.log());
    await world.attach({ hubName });
  });

  afterAll(async () => {
    await world?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true });
    const filters = JSON.stringify({ name: [hubName] });
    assert.deepEqual(await docker.listContainers({ all: true, filters }), []);
    assert.deepEqual(await docker.listNetworks({ filters }), []);
  });

  const shown = (server: string) => getJson(hub, `/servers/${server}`);

  test('shows the reached and the refused targets of a server, in /servers and in the metrics', async () => {
    await using client = await connect(`${hub.url}/mcp/shared`);
    assert.equal(await client.call('fetch', { url: first }), '200 GET api.test/');
    assert.match(await client.call('fetch', { url: second }), /Request was cancelled/);
    const { egress } = await until(
      async () => JSON.parse(JSON.stringify(await shown('shared'))),
      found => found.egress?.blocked_count === 1,
      5_000,
    );
    assert.equal(egress.allowed, 1);
    assert.equal(egress.blocked[0].target, 'www.api.test:80');
    assert.match(egress.blocked[0].why, /^is not in "network.allow" of the server shared$/);
    assert.match(egress.blocked[0].last_at, /^20.*Z$/);
    const metrics = await (await fetch(`${hub.url}/metrics`)).text();
    assert.match(metrics, /agenthub_egress_blocked_total\{server="shared"\} 1/);
    assert.match(metrics, /agenthub_egress_allowed_total\{server="shared"\} 1/);
    assert.match(hub.log(), /blocked: www\.api\.test:80 is not in/);
  });

  test('reports a library that ignores the proxy, in the log of its server', async () => {
    await using client = await connect(`${hub.url}/mcp/shared`);
    const given = { host: '203.0.113.1', port: 443 };
    assert.equal(
      await client.call('raw', given),
      'connect ENETUNREACH 203.0.113.1:443 - Local (0.0.0.0:0)',
    );
    await hinted('shared');
  });

  test('reports a library whose error only the client gets, such as ws', async () => {
    await using client = await connect(`${hub.url}/mcp/lasting`);
    const seen = await client.call('ws', { url: 'ws://api.test/' });
    assert.match(seen, /EAI_AGAIN|ENOTFOUND/);
    await hinted('lasting');
  });

  /** Waits until the log of a server contains the hint about proxies. */
  async function hinted(server: string): Promise<void> {
    const url = `${hub.url}/servers/${server}/logs`;
    await until(
      async () => await (await fetch(url, { headers: hub.ownerHeaders })).text(),
      found => found.includes(`AgentHub: ${server} reaches the network through a proxy`),
      5_000,
    );
  }

  test('gives each instance per session the list of its server, in a network of its own', async () => {
    await using one = await connect(`${hub.url}/mcp/own`);
    await using other = await connect(`${hub.url}/mcp/own`);
    for (const client of [one, other]) {
      assert.equal(await client.call('fetch', { url: second }), '200 GET www.api.test/');
      assert.match(await client.call('fetch', { url: first }), /Request was cancelled/);
    }
    const found = await docker.listNetworks({
      filters: JSON.stringify({ name: [`${hubName}-own.`] }),
    });
    assert.equal(found.length, 2);
  });

  test('applies another list to running servers, and exact targets by new instances', async () => {
    await using client = await connect(`${hub.url}/mcp/shared`);
    const pid = await client.call('pid');
    const change = async (allow: readonly string[]) => {
      const config = JSON.parse(await readFile(hub.configFile, 'utf8'));
      config.servers.shared.network.allow = allow;
      await writeFile(hub.configFile, JSON.stringify(config));
      const response = await fetch(`${hub.url}/config/reload`, {
        method: 'POST',
        headers: hub.ownerHeaders,
      });
      assert.equal(response.status, 200, await response.text());
    };
    await change(['api.test', 'www.api.test']);
    assert.equal(await client.call('fetch', { url: second }), '200 GET www.api.test/');
    assert.equal((await client.call('pid')).split(' ')[0], pid.split(' ')[0]);
    const { Id: before } = await docker.getContainer(`${hubName}-shared`).inspect();
    await change(['api.test', 'db.internal:5432']);
    assert.match(await client.call('fetch', { url: second }), /Request was cancelled/);
    assert.equal(await client.call('raw', { host: 'db.internal', port: 5432 }), 'db ping');
    const shown = JSON.parse(JSON.stringify(await getJson(hub, '/servers/shared')));
    assert.notEqual(shown.instance.containerId, before.slice(0, 12));
  });

  test('that is killed and started again does not interrupt a download', async () => {
    const received = async () => {
      await using client = await connect(`${hub.url}/mcp/lasting`);
      const [, state, bytes] = /^(\S+) (\d+)$/.exec(await client.call('received')) ?? [];
      assert.equal(state, 'open');
      return Number(bytes);
    };
    const grown = async (from: number) =>
      await until(received, bytes => bytes > from + 1_000_000, 10_000);
    const facts = async () => {
      await using client = await connect(`${hub.url}/mcp/lasting`);
      const { Id } = await docker.getContainer(`${hubName}-.egress`).inspect();
      return [await client.call('pid'), Id].map(fact => fact.split(' ')[0]);
    };
    {
      await using client = await connect(`${hub.url}/mcp/lasting`);
      await client.call('download', { url: 'http://api.test/endless' });
    }
    const before = await facts();
    const atDeath = await grown(0);
    await hub.kill();
    const killed = hub;
    hub = await start();
    await killed[Symbol.asyncDispose]();
    const states = await settled(hub, 60_000);
    assert.equal(states['lasting'], 'running', hub.log());
    assert.deepEqual(await facts(), before);
    await grown(await grown(atDeath));
    const { egress } = JSON.parse(JSON.stringify(await shown('lasting')));
    assert.equal(egress, undefined, 'no further connection was made');
  });
});
