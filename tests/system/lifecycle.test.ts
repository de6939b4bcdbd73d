import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Docker from 'dockerode';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import { type HubProcess, startHub, states, until } from '#helpers/hub-process';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');

/** Entry of a server that starts at its first call. */
const lazy = (more: object = {}): object => ({
  command: process.execPath,
  args: [join(fixtures, 'echo.mjs')],
  runtime: 'process',
  ...more,
});

async function createDataDir() {
  const path = await mkdtemp(join(tmpdir(), 'agenthub-lifecycle-'));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

const stateOf = async (hub: HubProcess, server: string) => (await states(hub))[server];

async function toolNames(hub: HubProcess, path = '/mcp'): Promise<readonly string[]> {
  await using client = await connect(`${hub.url}${path}`);
  return await client.toolNames();
}

const opened = new AsyncDisposableStack();
/** Second hub on the data of a first one, in which `echo` and `changed` ran. The entry of `changed` differs now. */
let hub: HubProcess;
let listedAtFirst: readonly string[];
let ranAtFirst: unknown;
beforeAll(async () => {
  const data = opened.use(await createDataDir());
  const start = (servers: object) => startHub({ config: { servers }, dataDir: data.path });
  {
    await using first = await start({ echo: lazy(), changed: lazy() });
    listedAtFirst = await toolNames(first);
    for (const name of ['echo', 'changed']) await toolNames(first, `/mcp/${name}`);
    ranAtFirst = await states(first);
  }
  const servers = {
    echo: lazy(),
    changed: lazy({ env: { ANOTHER: 'value' } }),
    fresh: lazy(),
    idle: lazy({ auto_start: true, idle_stop: 1 }),
  };
  hub = opened.use(await start(servers));
});
afterAll(() => opened.disposeAsync());

describe('a server that starts at its first call', () => {
  test('is listed from the last run of the hub, and started by a call of what is listed', async () => {
    assert.deepEqual(
      listedAtFirst.filter(name => name.startsWith('echo')),
      [],
      'nobody knows yet what it offers',
    );
    assert.deepEqual(ranAtFirst, { echo: 'running', changed: 'running' });
    await using client = await connect(`${hub.url}/mcp`);
    assert.ok((await client.toolNames()).includes('echo_echo'));
    assert.equal(await stateOf(hub, 'echo'), 'stopped', 'listing it does not start it');
    assert.equal(await client.call('echo_echo', { text: 'hello' }), 'hello');
    assert.equal(await stateOf(hub, 'echo'), 'running');
  });

  test('is not listed where its entry would launch something else than it did', async () => {
    assert.equal((await toolNames(hub)).includes('changed_echo'), false);
    assert.equal(await stateOf(hub, 'changed'), 'stopped');
  });

  test('is started by "initialize" on its own endpoint', async () => {
    assert.equal(await stateOf(hub, 'fresh'), 'stopped');
    await using _ = await connect(`${hub.url}/mcp/fresh`);
    assert.equal(await stateOf(hub, 'fresh'), 'running');
  });
});

describe('a server with "idle_stop"', () => {
  test('is stopped when nobody calls it, stays listed, and is started by the next call', async () => {
    await using client = await connect(`${hub.url}/mcp`);
    await until(
      () => client.toolNames(),
      names => names.includes('idle_echo'),
      20_000,
    );
    await until(
      () => stateOf(hub, 'idle'),
      state => state === 'stopped',
      20_000,
    );
    assert.ok((await client.toolNames()).includes('idle_echo'));
    assert.equal(await client.call('idle_echo', { text: 'again' }), 'again');
  });
});

describeWithEngine('a server of an image', () => {
  test('is not listed from the last run where another image has its name now', async () => {
    const docker = new Docker({ socketPath: engineHost.replace('unix://', '') });
    const repo = `agenthub-lifecycle-${randomUUID().slice(0, 8)}`;
    const base = docker.getImage('node:24-bookworm-slim');
    await base.tag({ repo, tag: 'latest' });
    await using data = await createDataDir();
    const echo = {
      image: `${repo}:latest`,
      command: 'node',
      args: ['/fixtures/echo.mjs'],
      mounts: [{ source: fixtures, target: '/fixtures' }],
    };
    const options = {
      config: { servers: { echo } },
      dataDir: data.path,
      env: { HUB_NAME: repo },
    };
    try {
      {
        await using first = await startHub(options);
        await toolNames(first, '/mcp/echo');
      }
      {
        await using second = await startHub(options);
        assert.ok((await toolNames(second)).includes('echo_echo'));
      }
      const container = await docker.createContainer({ Image: 'node:24-bookworm-slim' });
      await container.commit({ repo, tag: 'latest', changes: 'ENV CHANGED=yes' });
      await container.remove();
      await using third = await startHub(options);
      await until(
        () => toolNames(third),
        names => !names.includes('echo_echo'),
        10_000,
      );
      await toolNames(third, '/mcp/echo');
      assert.ok((await toolNames(third)).includes('echo_echo'), 'it is read when it starts');
    } finally {
      await docker.getImage(`${repo}:latest`).remove({ force: true });
    }
  });
});
