import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type SdkClient, connect } from '#helpers/client';
import { describeWithEngine } from '#helpers/engine';
import { type HubProcess, getJson, settled, startHub, states, until } from '#helpers/hub-process';
import { isLong } from '#helpers/length';

const fixtures = join(import.meta.dirname, '..', 'fixtures', 'servers');
const MiB = 1024 * 1024;

/** Returns the entry of a fixture server, in a container of the bare Node image or as a process. */
function fixture(runtime: 'docker' | 'process', file: string, more: object = {}) {
  const where =
    runtime === 'docker'
      ? {
          image: 'node:24-bookworm-slim',
          command: 'node',
          args: [`/fixtures/${file}`],
          mounts: [{ source: fixtures, target: '/fixtures' }],
        }
      : { command: process.execPath, args: [join(fixtures, file)], runtime };
  return { ...where, auto_start: true, max_restarts: 1, ...more };
}

/** Number of healthy servers. Containers are expensive, and processes load a hub in the same way. */
const wellOf = { process: 14, docker: isLong ? 14 : 4 } as const;

/** Config with the healthy servers, and one server for each kind of fault. */
const configOf = (runtime: 'docker' | 'process') => ({
  servers: {
    ...Object.fromEntries(
      Array.from({ length: wellOf[runtime] }, (_, at) => [
        `well-${at + 1}`,
        fixture(runtime, 'echo.mjs'),
      ]),
    ),
    // With so long a timeout, all other servers run before this one has failed. It has only one attempt.
    'never-ready': fixture(runtime, 'never-ready.mjs', { start_timeout: 10, max_restarts: 0 }),
    'exit-at-once': fixture(runtime, 'exit-at-once.mjs'),
    noisy: fixture(runtime, 'stdout-noise.mjs'),
    half: fixture(runtime, 'half-line.mjs', { max_restarts: 3 }),
    huge: fixture(runtime, 'echo.mjs', { resources: { memory: '512m' } }),
    liar: fixture(runtime, 'liar.mjs'),
  },
});

function fleet(runtime: 'docker' | 'process'): void {
  let hub: HubProcess;
  let neighbour: SdkClient;

  beforeAll(async () => {
    hub = await startHub({ config: configOf(runtime), env: { HUB_NAME: `fleet-${process.pid}` } });
  });

  afterAll(async () => {
    await neighbour?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
  });

  const residentBytes = () =>
    Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${hub.pid}/status`, 'utf8'))?.[1]) * 1024;

  test('all start at once, and the failing ones delay no others', async () => {
    const well = (found: Readonly<Record<string, string>>) =>
      Object.entries(found).filter(
        ([name, state]) => name.startsWith('well') && state === 'running',
      );
    const found = await until(
      () => states(hub),
      all => well(all).length === wellOf[runtime],
      60_000,
    );
    // The hub is still waiting for the server that never becomes ready.
    assert.equal(found['never-ready'], 'starting');
    neighbour = await connect(`${hub.url}/mcp/well-1`);
    assert.equal(await neighbour.call('echo', { text: 'early' }), 'early');
  });

  test('each failing server has its state, and an error with the reason', async () => {
    const found = await settled(hub, 60_000);
    assert.equal(found['never-ready'], 'failed');
    assert.equal(found['exit-at-once'], 'failed');
    for (const name of ['noisy', 'half', 'huge', 'liar'])
      assert.equal(found[name], 'running', name);
    const text = async (name: string) => JSON.stringify(await getJson(hub, `/servers/${name}`));
    assert.match(await text('never-ready'), /did not answer initialize and its lists in time/);
    assert.match(await text('exit-at-once'), /exited with code 3/);
    assert.match(await text('exit-at-once'), /"stderr":"[^"]+"/);
  });

  test('a call to one that failed is refused at once, with the end of its stderr', async () => {
    const answer = await fetch(`${hub.url}/mcp/exit-at-once/tools/list`, { method: 'POST' });
    assert.equal(answer.status, 503);
    const { error } = JSON.parse(await answer.text());
    assert.equal(error.data.code, 'HUB_SERVER_FAILED');
    assert.equal(error.data.server, 'exit-at-once');
    assert.ok(error.data.stderr.length > 0);
  });

  test('noise on stdout is logged and affects no response', async () => {
    await using client = await connect(`${hub.url}/mcp/noisy`);
    const [tool = ''] = await client.toolNames();
    await client.call(tool, { text: 'x' });
    assert.match(hub.log(), /something else than JSON-RPC on stdout/);
  });

  test('half a line and a crash: the call fails, and the server is restarted', async () => {
    await using client = await connect(`${hub.url}/mcp/half`);
    const [tool = ''] = await client.toolNames();
    await assert.rejects(client.call(tool), /half is gone/);
    await until(
      () => states(hub),
      found => found['half'] === 'running',
      30_000,
    );
    assert.ok((await client.toolNames()).length > 0);
  });

  test('a line of 50 MB passes', { timeout: 60_000 }, async () => {
    await using client = await connect(`${hub.url}/mcp/huge`);
    assert.ok((await client.call('huge', { bytes: 50 * MiB })).length > 49 * MiB);
  });

  test(
    'a line of 100 MB fails its own call only, and is discarded in constant memory',
    { timeout: 60_000 },
    async () => {
      await using client = await connect(`${hub.url}/mcp/huge`);
      const before = residentBytes();
      let highest = before;
      let answered = 0;
      let over = false;
      const big = assert
        .rejects(client.call('huge', { bytes: 100 * MiB }), /answered with \d+ bytes.*max_line/)
        .finally(() => (over = true));
      while (!over) {
        highest = Math.max(highest, residentBytes());
        assert.equal(await neighbour.call('echo', { text: 'meanwhile' }), 'meanwhile');
        answered++;
      }
      await big;
      assert.ok(answered > 0);
      // The hub buffers a line up to its limit of 64 MiB, as it may still be valid, and discards it beyond.
      assert.ok(highest - before < 180 * MiB, `grew by ${(highest - before) / MiB} MiB`);
      assert.equal(await client.call('echo', { text: 'after' }), 'after');
    },
  );

  test('a server that sends wrong responses answers no call but its own', async () => {
    await using client = await connect(`${hub.url}/mcp/liar`);
    for (const tool of await client.toolNames()) {
      await client.call(tool).catch(() => {});
      assert.equal(await neighbour.call('echo', { text: tool }), tool);
    }
  });

  test('the hub leaves nothing behind when it stops', { timeout: 60_000 }, async () => {
    assert.equal(await hub.stop(), 0, hub.log());
  });
}

describe('a fleet of twenty processes', () => fleet('process'));
describeWithEngine('a fleet of containers', () => fleet('docker'));
