import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import {
  Client as ModernClient,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as Http } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { WebSocketClientTransport } from '@modelcontextprotocol/sdk/client/websocket.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createToken } from '#access';
import { type HubProcess, startHub, until } from '#helpers/hub-process';
import { send } from '../transports/raw.ts';

const root = join(import.meta.dirname, '../..');
const program = join(root, 'bin/agenthub.mjs');
const servers = {
  echo: {
    command: process.execPath,
    args: [join(root, 'tests/fixtures/servers/echo.mjs')],
    runtime: 'process',
    auto_start: true,
  },
};
const run = promisify(execFile);
const hello = { name: 'echo_echo', arguments: { text: 'hello' } };
const clientInfo = { name: 'named', version: '1.0.0' };

/** Resolves when the server runs. */
const isReady = async ({ url, ownerHeaders }: HubProcess) =>
  await until(
    async () => await (await send(`${url}/servers/echo`, { headers: ownerHeaders })).body(),
    text => text.includes('"running"'),
    20_000,
  );

/** Runs `agenthub` with the data folder of a hub. */
async function agenthub(
  { dataDir, url, configFile }: Pick<HubProcess, 'dataDir' | 'url' | 'configFile'>,
  ...args: readonly string[]
): Promise<string> {
  const env = {
    ...process.env,
    DATA_DIR: dataDir,
    ROUTER_PORT: new URL(url).port,
    MCP_SERVERS_CONFIG: configFile,
  };
  const { stdout } = await run(process.execPath, [program, ...args], { env, cwd: dataDir });
  return stdout.trim();
}

/** Sends a request that a command for clients would send to a running hub, without starting a process. */
async function administer(hub: HubProcess, method: string, path: string, body: object = {}) {
  const headers = { ...hub.ownerHeaders, 'content-type': 'application/json' };
  const answer = await fetch(hub.url + path, { method, headers, body: JSON.stringify(body) });
  assert.ok(answer.ok, await answer.text());
}

async function makeToken(hub: HubProcess, client: string): Promise<string> {
  const { token, digest } = createToken();
  await administer(hub, 'POST', `/clients/${client}/token`, { sha256: digest });
  return token;
}

/** A connected client that can call a tool, and learns when the hub ends its connection. */
type Connected = AsyncDisposable & {
  readonly call: () => Promise<unknown>;
  readonly ended: Promise<void>;
};

async function over(transport: Transport): Promise<Connected> {
  const client = new Client(clientInfo);
  const ended = Promise.withResolvers<void>();
  client.onclose = () => ended.resolve();
  // The client reports a stream that the hub ended as an error.
  client.onerror = () => ended.resolve();
  await client.connect(transport);
  return {
    call: async () => (await client.callTool(hello)).content,
    ended: ended.promise,
    [Symbol.asyncDispose]: () => client.close(),
  };
}

type Open = (hub: HubProcess, token: string) => Promise<Connected>;
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

const transports: Readonly<Record<string, Open>> = {
  'streamable HTTP': async ({ url }, token) =>
    await over(new Http(new URL(`${url}/mcp`), { requestInit: { headers: bearer(token) } })),
  'HTTP with SSE': async ({ url }, token) =>
    await over(
      new SSEClientTransport(new URL(`${url}/sse`), {
        requestInit: { headers: bearer(token) },
        eventSourceInit: {
          fetch: async (input, init) =>
            await fetch(input, { ...init, headers: { ...init.headers, ...bearer(token) } }),
        },
      }),
    ),
  'a WebSocket of connect-stdio': async ({ url, dataDir }, token) =>
    await over(
      new StdioClientTransport({
        command: process.execPath,
        args: [program, 'connect-stdio', '--url', url],
        env: { PATH: process.env['PATH'] ?? '', ROUTER_TOKEN: token },
        cwd: dataDir,
        stderr: 'ignore',
      }),
    ),
  'the stateless revision': async ({ url }, token) => {
    const client = new ModernClient(clientInfo, {
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    });
    const requestInit = { headers: bearer(token) };
    await client.connect(new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit }));
    return {
      call: async () => (await client.callTool(hello)).content,
      ended: Promise.resolve(),
      [Symbol.asyncDispose]: () => client.close(),
    };
  },
};

const answer = [{ type: 'text', text: 'hello' }];

/** Makes a hub reload this config. */
async function reload(hub: HubProcess, config: object): Promise<void> {
  await writeFile(hub.configFile, JSON.stringify(config));
  await administer(hub, 'POST', '/config/reload');
}

describe('a client by name', () => {
  /** A hub for tests that leave its config as it was. */
  let shared: HubProcess;
  beforeAll(async () => {
    shared = await startHub({ config: { servers } });
    await isReady(shared);
  });
  afterAll(() => shared?.[Symbol.asyncDispose]());

  test('is cut off on every transport and in both eras when its token is revoked', async () => {
    const hub = shared;
    await using open = new AsyncDisposableStack();
    await reload(hub, { servers, tokens: 'required' });
    open.defer(() => reload(hub, { servers }));
    const [token, other] = [await makeToken(hub, 'cursor'), await makeToken(hub, 'vscode')];
    const connected = await Promise.all(
      Object.values(transports).map(async connect => open.use(await connect(hub, token))),
    );
    const others = await Promise.all(
      Object.values(transports).map(async connect => open.use(await connect(hub, other))),
    );
    for (const { call } of [...connected, ...others]) assert.deepEqual(await call(), answer);
    const { clients } = JSON.parse(await agenthub(hub, 'token', 'list', '--json'));
    const [cursor] = clients;
    assert.equal(cursor.name, 'cursor');
    assert.ok(cursor.calls >= 4 && cursor.last_seen !== null, JSON.stringify(cursor));
    await agenthub(hub, 'token', 'revoke', 'cursor');
    for (const { call } of connected) await assert.rejects(call());
    const [, sse, webSocket] = connected;
    await sse?.ended;
    assert.ok(webSocket);
    for (const { call } of others) assert.deepEqual(await call(), answer);
    assert.ok(![token, other].some(secret => hub.log().includes(secret)));
  });

  test('is administered on any port, without a line about a refused request', async () => {
    await using hub = await startHub({ config: { servers, tokens: 'required' } });
    await isReady(hub);
    const { dataDir, configFile } = hub;
    const env = { PATH: process.env['PATH'], DATA_DIR: dataDir, MCP_SERVERS_CONFIG: configFile };
    const at = async (...args: readonly string[]) =>
      (await run(process.execPath, [program, ...args], { env, cwd: dataDir })).stdout;
    const token = (await at('token', 'create', 'cursor')).trim();
    assert.match(token, /^[\w-]{43}$/);
    assert.match(await at('token', 'list'), /^cursor /m);
    assert.match(await at('policy'), /has no rules/);
    assert.match(await at('secret', 'list'), /No secrets/);
    await at('reload');
    assert.match(await at('list'), /^echo /m);
    assert.match(await at('audit', '--json', '-n', '100'), /"token_created"/);
    assert.match(await at('call', 'echo_echo', 'text=hello'), /hello/);
    const lines = await at('audit', '--json', '-n', '100');
    assert.doesNotMatch(lines, /"kind":\s*"refusal"/);
    assert.doesNotMatch(hub.log(), /needs the owner's key|Authorization must be/);
    await using bridge = await over(
      new StdioClientTransport({
        command: process.execPath,
        args: [program, 'connect-stdio'],
        env: { PATH: process.env['PATH'] ?? '', DATA_DIR: dataDir, ROUTER_TOKEN: token },
        cwd: dataDir,
        stderr: 'ignore',
      }),
    );
    assert.deepEqual(await bridge.call(), answer);
  });

  test('has its token after a kill of the hub, and is refused with a revoked one', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-named-'));
    const start = async () => await startHub({ config: { servers }, dataDir });
    const first = await start();
    const token = await makeToken(first, 'cursor');
    const gone = await makeToken(first, 'vscode');
    await administer(first, 'DELETE', '/clients/vscode/token');
    await first.kill();
    await using second = await start();
    const status = async (headers: Readonly<Record<string, string>>) => {
      const response = await send(`${second.url}/servers`, { headers });
      response.cut();
      return response.status;
    };
    assert.equal(await status(bearer(token)), 200);
    assert.equal(await status(bearer(gone)), 401, 'it does not become the local user');
    assert.equal(await status({}), 200, 'calls are open');
    await second.stop();
    // Without a running hub, concurrent commands change the data folder one after the other.
    const made = await Promise.all(
      ['one', 'two', 'three'].map(async name => await agenthub(second, 'token', 'create', name)),
    );
    const listed = await agenthub(second, 'token', 'list');
    for (const name of ['cursor', 'one', 'two', 'three'])
      assert.match(listed, new RegExp(`^${name} `, 'm'));
    assert.equal(new Set(made).size, 3);
    await first[Symbol.asyncDispose]();
    await rm(dataDir, { recursive: true });
  });

  test('on stdin needs no token, and is the one that AGENTHUB_CLIENT names, or the hub does not start', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'agenthub-named-'));
    const configFile = join(folder, 'hub.json');
    const clients = { cursor: { administer: true } };
    const config = { servers, clients, tokens: 'required', management_tools: true };
    await writeFile(configFile, JSON.stringify(config));
    const env = (name: string) => ({
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: join(folder, 'data'),
      AGENTHUB_CLIENT: name,
    });
    const args = [program, 'serve', '--stdio', '--config', configFile];
    const toolsOf = async (name: string) => {
      const client = new Client(clientInfo);
      const how = { command: process.execPath, args, cwd: folder, stderr: 'ignore' } as const;
      await client.connect(new StdioClientTransport({ ...how, env: env(name) }));
      const { tools } = await client.listTools();
      await client.close();
      return tools.map(tool => tool.name);
    };
    assert.ok((await toolsOf('cursor')).includes('agenthub_restart_server'), 'it administers');
    assert.ok(!(await toolsOf('')).includes('agenthub_restart_server'));
    const failed = execFile(process.execPath, args, { env: env('cursr'), cwd: folder });
    let said = '';
    failed.stderr?.on('data', (text: string) => (said += text));
    const [code] = await once(failed, 'exit');
    assert.equal(code, 2);
    assert.match(said, /AGENTHUB_CLIENT: no client is called "cursr"\. .*clients are cursor/);
    await rm(folder, { recursive: true });
  });

  test('whose file of tokens is damaged is told at the start, with the file', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-named-'));
    const nowhere = { dataDir, url: 'http://127.0.0.1:1', configFile: join(dataDir, 'hub.json') };
    await writeFile(nowhere.configFile, JSON.stringify({ servers }));
    await agenthub(nowhere, 'token', 'create', 'cursor');
    const file = join(dataDir, 'client-tokens.json');
    const whole = await readFile(file, 'utf8');
    await writeFile(file, whole.slice(0, 40));
    await assert.rejects(startHub({ config: { servers }, dataDir }), (error: unknown) => {
      assert.match(
        String(error),
        /client-tokens\.json does not hold the tokens of clients\. Restore it/,
      );
      return true;
    });
    assert.equal(await readFile(file, 'utf8'), whole.slice(0, 40));
    await rm(dataDir, { recursive: true });
  });

  test('is asked for its token from the reload on that requires one, also where a connection is open', async () => {
    const hub = shared;
    await using restored = new AsyncDisposableStack();
    restored.defer(() => reload(hub, { servers }));
    const status = async () => {
      const response = await send(`${hub.url}/servers`);
      response.cut();
      return response.status;
    };
    assert.equal(await status(), 200);
    const transport = new WebSocketClientTransport(new URL(`${hub.url.replace('http', 'ws')}/mcp`));
    await using open = await over(transport);
    await using stream = await over(new SSEClientTransport(new URL(`${hub.url}/sse`)));
    assert.deepEqual(await open.call(), answer);
    const followed = await send(`${hub.url}/activity/events`, {
      headers: { accept: 'text/event-stream' },
    });
    await reload(hub, { servers, tokens: 'required' });
    await Promise.all([open.ended, stream.ended, followed.body()]);
    assert.equal(await status(), 401);
    await reload(hub, { servers });
    assert.equal(await status(), 200);
  });
});
