import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { isObject } from '#core';
import { type HubProcess, startHub, until } from '#helpers/hub-process';

const root = join(import.meta.dirname, '../..');
const fixture = (file: string) => ({
  command: process.execPath,
  args: [join(root, 'tests/fixtures/servers', file)],
  runtime: 'process',
});
const servers = { echo: { ...fixture('echo.mjs'), auto_start: true } };
const token = 'a-token-for-calls-only';

async function connect({ url }: HubProcess, headers: Record<string, string> = {}, path = '/mcp') {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}${path}`), {
    requestInit: { headers },
  });
  await client.connect(transport);
  return {
    async managementTools() {
      const { tools } = await client.listTools();
      return tools.map(({ name }) => name).filter(name => name.includes('server'));
    },
    call: async (name: string, args: Record<string, unknown> = {}) =>
      await client.callTool({ name, arguments: args }),
    [Symbol.asyncDispose]: () => client.close(),
  };
}

const managed = ['list', 'start', 'stop', 'restart'].map(verb =>
  verb === 'list' ? 'agenthub_list_servers' : `agenthub_${verb}_server`,
);
const all = [...managed, 'agenthub_server_logs'];

async function serversShown({ url, ownerHeaders }: HubProcess): Promise<readonly unknown[]> {
  const answer: unknown = await (await fetch(`${url}/servers`, { headers: ownerHeaders })).json();
  const shown = isObject(answer) && Array.isArray(answer['servers']) ? answer['servers'] : [];
  return shown.map((server: unknown) => isObject(server) && server['name']);
}

describe('the management tools of a hub', () => {
  /** A hub with management tools and without a token. */
  let open: HubProcess;
  beforeAll(async () => {
    const broken = { ...fixture('exit-at-once.mjs'), max_restarts: 0 };
    const config = { management_tools: true, servers: { ...servers, broken } };
    open = await startHub({ config });
  });
  afterAll(() => open?.[Symbol.asyncDispose]());

  test('are off unless the config turns them on, and follow it', async () => {
    await using hub = await startHub({ config: { servers } });
    await using client = await connect(hub, hub.ownerHeaders);
    assert.deepEqual(await client.managementTools(), []);
    assert.deepEqual(await serversShown(hub), ['echo']);
    await writeFile(hub.configFile, JSON.stringify({ management_tools: true, servers }));
    const offered = await until(
      () => client.managementTools(),
      ({ length }) => length > 0,
      10_000,
    );
    assert.deepEqual(offered, all);
    assert.deepEqual(await serversShown(hub), ['agenthub', 'echo']);
  });

  test("are for the owner's key, and not for calls that are open to the user or made with ROUTER_TOKEN", async () => {
    const config = { management_tools: true, servers };
    await using hub = await startHub({ config, env: { ROUTER_TOKEN: token } });
    await using local = await connect(open);
    await using holder = await connect(hub, { authorization: `Bearer ${token}` });
    for (const client of [local, holder]) {
      assert.deepEqual(await client.managementTools(), []);
      await assert.rejects(client.call('agenthub_stop_server', { server: 'echo' }), {
        code: -32602,
        message: /no tool is called "agenthub_stop_server"/,
      });
    }
    await using owner = await connect(hub, hub.ownerHeaders, '/mcp/agenthub');
    assert.deepEqual(
      await owner.managementTools(),
      all.map(name => name.replace('agenthub_', '')),
    );
  });

  test('start, stop and restart a server, and read its log', async () => {
    await using client = await connect(open, open.ownerHeaders);
    const stateAfter = async (verb: string) => {
      const { structuredContent } = await client.call(`agenthub_${verb}_server`, {
        server: 'echo',
      });
      return isObject(structuredContent) && structuredContent['state'];
    };
    assert.equal(await stateAfter('start'), 'running');
    assert.equal(await stateAfter('stop'), 'stopped');
    assert.equal(await stateAfter('restart'), 'running');
    const failed = await client.call('agenthub_start_server', { server: 'broken' });
    assert.equal(failed['isError'], true);
    const logs = await client.call('agenthub_server_logs', { server: 'broken', lines: 1 });
    assert.deepEqual(logs['structuredContent'], {
      server: 'broken',
      lines: ['fatal: API_KEY is not set'],
    });
  });

  test('leave the name to an entry of the config, as `agenthub check` says', async () => {
    const config = { management_tools: true, servers: { agenthub: servers.echo } };
    await using hub = await startHub({ config });
    await using client = await connect(hub, hub.ownerHeaders);
    assert.deepEqual(
      await client.managementTools(),
      all.map(name => name.replace('agenthub_', 'agenthub-builtin_')),
    );
    assert.deepEqual(await serversShown(hub), ['agenthub-builtin', 'agenthub']);
    const { stderr } = await promisify(execFile)(
      process.execPath,
      [join(root, 'bin/agenthub.mjs'), 'check', '--config', hub.configFile],
      { cwd: hub.dataDir },
    );
    assert.match(
      stderr,
      /agenthub: the hub has a server of this name itself, which is called agenthub-builtin/,
    );
  });
});
