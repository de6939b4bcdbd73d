import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { connect } from '#helpers/client';
import { type HubProcess, getJson, settled, startHub, until } from '#helpers/hub-process';

const config = {
  servers: {
    echo: {
      command: process.execPath,
      args: [join(import.meta.dirname, '../fixtures/servers/echo.mjs')],
      runtime: 'process',
      auto_start: true,
    },
  },
};

let dataDir = '';
beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'agenthub-calls-'));
});
afterAll(async () => await rm(dataDir, { recursive: true, force: true }));

async function start(): Promise<HubProcess> {
  const hub = await startHub({ config, dataDir });
  await settled(hub, 20_000);
  return hub;
}

/** Returns the calls of tools that the hub recorded, oldest first. */
async function callsOf(hub: HubProcess): Promise<readonly Record<string, unknown>[]> {
  const answer = await getJson(hub, '/activity?limit=500');
  assert.ok(isObject(answer) && Array.isArray(answer['calls']));
  return answer['calls']
    .filter(isObject)
    .filter(({ method }) => method === 'tools/call')
    .reverse();
}

const storedCalls = async () =>
  await readFile(join(dataDir, 'activity', 'calls.jsonl'), 'utf8').catch(() => '');

describe('the activity', () => {
  test('is restored after the hub was stopped, killed, and found its file damaged', async () => {
    let session: unknown;
    {
      await using hub = await start();
      await using client = await connect(`${hub.url}/mcp`);
      await client.call('echo_echo', { text: 'never on the disk' });
      session = (await callsOf(hub))[0]?.['session'];
    }
    {
      await using hub = await start();
      await using client = await connect(`${hub.url}/mcp`);
      await client.call('echo_slow', { ms: 0 });
      const calls = await callsOf(hub);
      assert.deepEqual(
        calls.map(({ name }) => name),
        ['echo_echo', 'echo_slow'],
      );
      assert.equal(calls[0]?.['session'], session);
      assert.ok(
        Number(calls[1]?.['session']) > Number(session),
        'sessions have numbers of their own',
      );
      await until(storedCalls, text => text.includes('echo_slow'), 10_000);
      await hub.kill();
      await appendFile(join(dataDir, 'activity', 'calls.jsonl'), '[3,"torn');
    }
    await using hub = await start();
    const calls = await callsOf(hub);
    assert.deepEqual(
      calls.map(({ name, server, outcome }) => [name, server, outcome]),
      [
        ['echo_echo', 'echo', 'ok'],
        ['echo_slow', 'echo', 'ok'],
      ],
    );
    const page = await fetch(`${hub.url}/dashboard/activity/${String(calls[0]?.['id'])}`, {
      headers: hub.ownerHeaders,
    });
    assert.match(await page.text(), /not kept when the hub restarts/);
    assert.doesNotMatch(await storedCalls(), /never on the disk/);
    assert.equal(hub.log().match(/lines of stored calls are damaged/g)?.length, 1);
  });
});
