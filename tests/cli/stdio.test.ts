import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as ClientOfV2 } from '@modelcontextprotocol/client';
import { StdioClientTransport as StdioOfV2 } from '@modelcontextprotocol/client/stdio';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type TestHub, startHub, until } from '#helpers/hub';
import { type HubProcess, getJson, startHub as startProcess } from '#helpers/hub-process';
import { freePort } from '#helpers/port';
import { callTokenFile, readOrMakeKey } from '#store';

const root = join(import.meta.dirname, '..', '..');
const bin = join(root, 'bin', 'agenthub.mjs');
const echo = {
  command: process.execPath,
  args: [join(root, 'tests', 'fixtures', 'servers', 'echo.mjs')],
  runtime: 'process',
  auto_start: true,
};

let folder = '';
let config = '';
/** Config of a hub that sends no messages by itself, because its server starts at its first call. */
let quietConfig = '';
const token = 'a-token-of-some-length';
/** Running hub, shared by the tests of clients that connect to one. */
let running: TestHub;
beforeAll(async () => {
  running = await startHub([{ name: 'echo' }], { http: { token } });
  folder = mkdtempSync(join(tmpdir(), 'agenthub-stdio-'));
  config = join(folder, 'mcp-servers.json');
  writeFileSync(config, JSON.stringify({ servers: { echo } }));
  quietConfig = join(folder, 'quiet.json');
  writeFileSync(quietConfig, JSON.stringify({ servers: { echo: { ...echo, auto_start: false } } }));
});
afterAll(async () => {
  await running?.[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

let folders = 0;
/** Returns the environment of a hub with a new data folder. */
const environment = (more: Readonly<Record<string, string>> = {}) => ({
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
  DATA_DIR: join(folder, `data-${++folders}`),
  LOG_FORMAT: 'json',
  ...more,
});

const clientInfo = { name: 'stdio', version: '1.0.0' };
const serve = (file = config) => ['serve', '--stdio', '--config', file];

/** Functions that connect the SDK's clients, which start their server themselves. */
const sdks = {
  async v1(args: readonly string[], env: Record<string, string>) {
    const client = new Client(clientInfo);
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [bin, ...args],
      cwd: folder,
      env,
      stderr: 'ignore',
    });
    await client.connect(transport);
    return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
  },
  async v2(args: readonly string[], env: Record<string, string>) {
    return await connectV2(args, env, 'legacy');
  },
  async 'v2, stateless'(args: readonly string[], env: Record<string, string>) {
    return await connectV2(args, env, 'auto');
  },
};

async function connectV2(
  args: readonly string[],
  env: Record<string, string>,
  mode: 'legacy' | 'auto',
) {
  const client = new ClientOfV2(clientInfo, { versionNegotiation: { mode } });
  const transport = new StdioOfV2({
    command: process.execPath,
    args: [bin, ...args],
    cwd: folder,
    env,
    stderr: 'ignore',
  });
  await client.connect(transport);
  assert.equal(client.getProtocolEra(), mode === 'auto' ? 'modern' : 'legacy');
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

/** Lists the tools until those of `echo` are among them, as servers start some moments after the hub. */
async function listed(client: {
  listTools(): Promise<{ readonly tools: readonly { readonly name: string }[] }>;
}): Promise<readonly string[]> {
  let names: readonly string[] = [];
  const end = Date.now() + 15_000;
  while (!names.includes('echo_echo') && Date.now() < end)
    names = (await client.listTools()).tools.map(({ name }) => name);
  return names;
}

for (const [name, connect] of Object.entries(sdks)) {
  test(`the SDK's client ${name} uses the hub that it starts with serve --stdio`, async () => {
    await using client = await connect(serve(), environment());
    assert.ok((await listed(client)).includes('echo_echo'));
    const text = 'x'.repeat(300_000);
    const called = await client.callTool({ name: 'echo_echo', arguments: { text } });
    assert.deepEqual(called.content, [{ type: 'text', text }]);
  });

  test(`the SDK's client ${name} uses a hub that runs, with connect-stdio`, async () => {
    const hub = running;
    const args = ['connect-stdio', '--url', hub.url, '--server', 'echo'];
    await using client = await connect(args, environment({ ROUTER_TOKEN: token }));
    assert.ok((await client.listTools()).tools.some(tool => tool.name === 'echo'));
    const text = 'x'.repeat(300_000);
    const called = await client.callTool({ name: 'echo', arguments: { text } });
    assert.deepEqual(called.content, [{ type: 'text', text }]);
    await client.close();
    await until(() => hub.router.sessionCount === 0);
  });
}

/** Starts the program with pipes for stdin, stdout and stderr. */
function start(args: readonly string[], env: Record<string, string> = environment()) {
  const child = spawn(process.execPath, [bin, ...args], { cwd: folder, env });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()));
  child.stdin.on('error', () => {});
  const ended = once(child, 'close').then(() => child.exitCode ?? child.signalCode);
  return {
    child,
    ended,
    out: () => out,
    err: () => err,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

const initialize = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo },
})}\n`;
const callOf = (id: number, name: string, given: object) =>
  `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: given } })}\n`;
const lines = (text: string): readonly { id?: unknown }[] =>
  text
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line));

describe('serve --stdio', () => {
  test('writes messages to stdout and nothing else, and does not listen', async () => {
    await using hub = start(serve(quietConfig));
    hub.child.stdin.write(initialize);
    await until(() => hub.out().endsWith('\n'), hub.err);
    hub.child.stdin.end();
    assert.equal(await hub.ended, 0);
    assert.deepEqual(
      lines(hub.out()).map(({ id }) => id),
      [0],
    );
    assert.match(hub.err(), /AgentHub serves stdin/);
    assert.doesNotMatch(hub.err(), /AgentHub answers at|AgentHub listens/);
  });

  test('listens as well where a port is given', async () => {
    await using hub = start([...serve(), '--port', '0']);
    hub.child.stdin.write(initialize);
    await until(() => hub.out() !== '' && hub.err().includes('AgentHub answers at'));
    const url = /answers at (\S+)\/mcp/.exec(hub.err())?.[1] ?? '';
    assert.equal(Object(await getJson({ url }, '/health')).sessions, 1);
    hub.child.stdin.end();
    assert.equal(await hub.ended, 0);
    assert.doesNotMatch(hub.out(), /answers at/);
  });

  test('answers a client that uses Content-Length headers with such headers', async () => {
    await using hub = start(serve(quietConfig));
    const body = initialize.trim();
    hub.child.stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
    await until(() => hub.out().endsWith('}'));
    const [, length, answer = ''] = /^Content-Length: (\d+)\r\n\r\n(\{.*\})$/.exec(hub.out()) ?? [];
    assert.equal(Buffer.byteLength(answer), Number(length));
    assert.equal(JSON.parse(answer).id, 0);
  });

  test('exits when its client is gone: its server ends too, and calls in flight are not waited for long', async () => {
    await using hub = start(serve());
    hub.child.stdin.write(initialize);
    let pid = 0;
    for (let id = 1; pid === 0; id++) {
      hub.child.stdin.write(callOf(id, 'echo_pid', {}));
      await until(() => lines(whole(hub.out())).some(message => message.id === id));
      pid = Number(/"text":"(\d+)"/.exec(hub.out())?.[1] ?? 0);
    }
    process.kill(pid, 0);
    hub.child.stdin.end(callOf(100_000, 'echo_slow', { ms: 600_000 }));
    // The hub notices that its client no longer reads when it writes the answer.
    hub.child.stdout.destroy();
    assert.equal(await hub.ended, 0);
    assert.throws(() => process.kill(pid, 0), { code: 'ESRCH' });
  });
});

/** Returns the complete lines of the text. */
const whole = (text: string) => text.slice(0, text.lastIndexOf('\n') + 1);

/** Address of this machine that other machines can reach; undefined if there is none. */
const ownAddress = Object.values(networkInterfaces())
  .flatMap(found => found ?? [])
  .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;

describe('connect-stdio', () => {
  test.skipIf(ownAddress === undefined)(
    'sends the token of the hub of this machine to loopback addresses only',
    async () => {
      const env = environment();
      mkdirSync(env.DATA_DIR);
      const token = await readOrMakeKey(join(env.DATA_DIR, callTokenFile));
      const sent: (string | undefined)[] = [];
      const server = createServer((request, response) => {
        sent.push(request.headers.authorization);
        response.writeHead(401).end();
      });
      server.listen(0);
      await once(server, 'listening');
      const bound = server.address();
      assert.ok(typeof bound === 'object' && bound);
      for (const host of ['127.0.0.1', ownAddress]) {
        const url = `http://${host}:${bound.port}`;
        await using refused = start(['connect-stdio', '--url', url], env);
        assert.equal(await refused.ended, 1, refused.err());
      }
      server.close();
      assert.deepEqual([...new Set(sent)], [`Bearer ${token}`, undefined]);
    },
  );

  test('exits with 1 and says how to start a hub if none runs', async () => {
    await using ended = start(['connect-stdio', '--url', 'http://127.0.0.1:1']);
    assert.equal(await ended.ended, 1);
    assert.equal(ended.out(), '');
    assert.match(
      ended.err(),
      /^no hub answers at http:\/\/127\.0\.0\.1:1 \(connect ECONNREFUSED .*\)\. Start one with "agenthub serve", or name another with --url\n$/,
    );
  });

  test('finds the hub of its settings, and does not read .env of its working folder', async () => {
    writeFileSync(join(folder, '.env'), 'LOG_LEVEL=not-a-level\n');
    await using ended = start(['connect-stdio'], environment({ ROUTER_PORT: '1' }));
    assert.equal(await ended.ended, 1);
    rmSync(join(folder, '.env'));
    assert.match(ended.err(), /^no hub answers at http:\/\/localhost:1 /);
  });

  test('reaches a hub over TLS, with the token of its environment', async () => {
    const keyFile = join(folder, 'key.pem');
    const certFile = join(folder, 'cert.pem');
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:prime256v1',
        '-nodes',
        '-days',
        '1',
        '-subj',
        '/CN=localhost',
      ].concat(['-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', certFile]),
      { stdio: 'ignore' },
    );
    const http = { tls: { keyFile, certFile }, token };
    await using hub = await startHub([], { http });
    const url = `https://localhost:${new URL(hub.url).port}`;
    const env = environment({ ROUTER_TOKEN: token, NODE_EXTRA_CA_CERTS: certFile });
    await using client = await sdks.v1(['connect-stdio', '--url', url], env);
    assert.equal(client.getServerVersion()?.name, 'agenthub');
    await using distrusted = start(['connect-stdio', '--url', url], environment());
    assert.equal(await distrusted.ended, 1);
    assert.match(distrusted.err(), /self-signed certificate/);
  });

  test('survives a kill of its hub: calls in flight fail at once, and the next hub is used', async () => {
    const options = { config: { servers: { echo } }, dataDir: join(folder, 'killed') };
    const port = await freePort();
    await using first = await startProcess({ ...options, port });
    await runs(first);
    const args = ['connect-stdio', '--url', first.url];
    await using client = await sdks.v1(args, environment());
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++);
    const slow = client.callTool({ name: 'echo_slow', arguments: { ms: 60_000 } });
    const failed = assert.rejects(
      slow,
      /the hub went away \(.*\), perhaps after it performed the request/,
    );
    await client.ping();
    process.kill(first.pid, 'SIGKILL');
    await failed;
    await client.ping();
    await assert.rejects(
      client.listTools(),
      /the hub is away\. The bridge reconnects when it is back: try again then/,
    );

    await using second = await startProcess({ ...options, port });
    await runs(second);
    await until(() => changes > 0);
    const called = await client.callTool({ name: 'echo_echo', arguments: { text: 'again' } });
    assert.deepEqual(called.content, [{ type: 'text', text: 'again' }]);
  });

  test('exits with 0 when its client closes stdin, and on a signal', async () => {
    await using hub = await startHub([]);
    const args = ['connect-stdio', '--url', hub.url];
    await using closed = start(args);
    closed.child.stdin.end(initialize);
    assert.equal(await closed.ended, 0);
    assert.deepEqual(
      lines(closed.out()).map(({ id }) => id),
      [0],
    );
    await using told = start(args);
    told.child.stdin.write(initialize);
    await until(() => told.out() !== '');
    told.child.kill('SIGTERM');
    assert.equal(await told.ended, 0);
  });
});

async function runs(hub: HubProcess): Promise<void> {
  for (;;) {
    const health: unknown = await getJson(hub, '/health');
    if (Object(health).servers.echo.state === 'running') return;
  }
}
