import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { docker } from '../runtimes/docker/hub.ts';
import { type HubProcess, getJson, settled, startHub, states, until } from '#helpers/hub-process';

const hubName = `sandbox-${process.pid}`;
const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');

/** Entry of the echo fixture in a bare Node image. */
const echo = (more: object = {}) => ({
  image: 'node:24-bookworm-slim',
  command: 'node',
  args: ['/fixtures/echo.mjs'],
  mounts: [{ source: fixtures, target: '/fixtures' }],
  auto_start: true,
  ...more,
});

/** Returns the addresses of a container on its networks. */
async function addressesOf(name: string): Promise<readonly string[]> {
  const { NetworkSettings } = await docker.getContainer(name).inspect();
  return Object.values(NetworkSettings.Networks).map(network => network.IPAddress);
}

describeWithEngine('servers that misbehave in their sandbox', () => {
  let hub: HubProcess;

  beforeAll(async () => {
    const config = {
      servers: {
        forker: echo({ resources: { pids: 40 } }),
        eater: echo({ resources: { memory: '96m' } }),
        neighbour: echo(),
        bridged: echo({ network: 'bridge' }),
        other: echo({ network: 'bridge' }),
        own: echo({ network: 'bridge', instance: 'session' }),
      },
    };
    hub = await startHub({ config, env: { HUB_NAME: hubName } });
    assert.deepEqual(
      new Set(Object.values(await settled(hub, 60_000))),
      new Set(['running']),
      hub.log(),
    );
  });

  afterAll(async () => await hub?.[Symbol.asyncDispose]());

  /** Calls the neighbour repeatedly until `work` settles. Returns the number of answers. */
  async function meanwhile(work: Promise<unknown>): Promise<number> {
    await using client = await connect(`${hub.url}/mcp/neighbour`);
    let over = false;
    let answered = 0;
    void work.finally(() => (over = true)).catch(() => {});
    do {
      assert.equal(await client.call('echo', { text: 'still here' }), 'still here');
      answered++;
    } while (!over);
    return answered;
  }

  test('a socket to the outside cannot be opened', async () => {
    await using client = await connect(`${hub.url}/mcp/neighbour`);
    assert.equal(await client.call('connect', { host: '192.0.2.1', port: 80 }), 'ENETUNREACH');
  });

  test('one on a bridge reaches no other container, on a bridge of its own or on the default one', async () => {
    const outside = await docker.createContainer({
      Image: 'node:24-bookworm-slim',
      Cmd: ['node', '-e', "require('node:net').createServer(() => {}).listen(7000)"],
      Labels: { 'io.agenthub.test': hubName },
    });
    try {
      await outside.start();
      const peers = [await addressesOf(outside.id), await addressesOf(`${hubName}-other`)].flat();
      assert.equal(peers.length, 2);
      await using client = await connect(`${hub.url}/mcp/bridged`);
      for (const host of peers)
        assert.match(
          await client.call('connect', { host, port: 7000 }),
          /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timeout)/,
          host,
        );
    } finally {
      await outside.remove({ force: true });
    }
  });

  test('instances of one server on a bridge do not reach each other', async () => {
    await using first = await connect(`${hub.url}/mcp/own`);
    await first.call('echo', { text: 'up' });
    await using second = await connect(`${hub.url}/mcp/own`);
    await second.call('echo', { text: 'up' });
    const addresses = await Promise.all(
      [1, 2].map(instance => addressesOf(`${hubName}-own.${instance}`)),
    );
    for (const [client, [other = '']] of [
      [first, addresses[1] ?? []],
      [second, addresses[0] ?? []],
    ] as const) {
      assert.match(other, /^\d/);
      assert.match(
        await client.call('connect', { host: other, port: 7000 }),
        /^(ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|timeout)/,
        other,
      );
    }
  });

  test('one that forks without end is held at its limit, which its statistics show', async () => {
    await using client = await connect(`${hub.url}/mcp/forker`);
    const forking = client.call('spawn-children', { count: 200 });
    assert.ok((await meanwhile(forking)) > 0);
    assert.match(await forking, /started \d{1,2}, refused \d+ EAGAIN/);
    await until(
      () => getJson(hub, '/servers/forker'),
      shown => /"pids":40,"pids_limit":40/.test(JSON.stringify(shown)),
      10_000,
    );
  });

  test('one that eats memory is killed, reported as out of memory, and started again', async () => {
    await using client = await connect(`${hub.url}/mcp/eater`);
    const eating = client.call('eat-memory', { MiB: 500 });
    const answered = await meanwhile(eating);
    assert.ok(answered > 0);
    await assert.rejects(eating, /out of memory/i);
    const back = await until(
      () => states(hub),
      found => found['eater'] === 'running',
      30_000,
    );
    assert.deepEqual(back, {
      forker: 'running',
      eater: 'running',
      neighbour: 'running',
      bridged: 'running',
      other: 'running',
      own: 'running',
    });
    assert.match(JSON.stringify(await getJson(hub, '/servers/eater')), /out of memory/i);
    assert.equal(await client.call('echo', { text: 'back' }), 'back');
  });
});
