import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { type Server, type Socket, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, test } from 'vitest';
import { WebSocket } from 'ws';
import { describeWithEngine } from '#helpers/engine';
import { engineHost } from '#helpers/engine-probe';
import { type HubProcess, startHub, until } from '#helpers/hub-process';

const run = promisify(execFile);
const engineSocket = engineHost.replace('unix://', '');
const image = 'node:24-bookworm-slim';

/** Closes a server with all its connections. */
function close(server: Server, open: ReadonlySet<Socket>): Promise<void> {
  const closed = new Promise<void>(resolve => server.close(() => resolve()));
  for (const socket of open) socket.destroy();
  return closed;
}

/** Forwards connections from one address to another. `instead` may answer a first request itself. */
async function forward(
  where: { readonly path: string } | { readonly host: string; readonly port: number },
  to: { readonly path: string } | { readonly host: string; readonly port: number },
  instead: (first: string) => string | undefined = () => undefined,
) {
  const open = new Set<Socket>();
  const server = createServer(near => {
    open.add(near);
    near
      .on('error', () => {})
      .once('data', (first: Buffer) => {
        const answer = instead(first.toString('latin1'));
        if (answer !== undefined) return void near.end(answer);
        const far = connect(to);
        open.add(far);
        far.on('error', () => {}).on('close', () => near.destroy());
        far.write(first);
        near.pipe(far).pipe(near);
        near.on('close', () => far.destroy());
      });
  });
  server.listen(where);
  await once(server, 'listening');
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound ? bound.port : 0,
    [Symbol.asyncDispose]: () => close(server, open),
  };
}

/** Answers a version request like Docker Desktop. Other requests go to the engine. */
function asDesktop(first: string): string | undefined {
  if (!/^GET (?:\/v[\d.]+)?\/version /.test(first)) return undefined;
  const platform = { Name: 'Docker Desktop 4.48.0 (207573)' };
  const body = JSON.stringify({ Version: '28.5.2', Os: 'linux', Platform: platform });
  return `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`;
}

const initialize = {
  jsonrpc: '2.0',
  id: 0,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  },
};
const headers = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};

/** Program in a container with a network: calls the hub through the forwarder, and tries to administer it. */
const intruder = `
const { request } = require('http');
const [host, port, authorization] = process.argv.slice(1);
const ask = (method, path, body) => new Promise((resolve, reject) => {
  const headers = { ...${JSON.stringify(headers)}, host: 'localhost', ...(authorization && { authorization }) };
  request({ host, port, method, path, headers }, answer => {
    answer.destroy();
    resolve(answer.statusCode);
  }).on('error', reject).end(body);
});
(async () => console.log(JSON.stringify([
  await ask('POST', '/mcp', ${JSON.stringify(JSON.stringify(initialize))}),
  await ask('GET', '/sse'),
  await ask('POST', '/servers/echo/restart'),
])))();
`;

const echo = {
  runtime: 'process',
  command: process.execPath,
  args: [join(import.meta.dirname, '../fixtures/servers/echo.mjs')],
};
const networked = { image, network: 'bridge', auto_start: false };

const postTo = async (
  hub: HubProcess,
  token?: string,
): Promise<{ status: number; text: string }> => {
  const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const answer = await fetch(`${hub.url}/mcp`, {
    method: 'POST',
    headers: { ...headers, ...authorization },
    body: JSON.stringify(initialize),
  });
  return { status: answer.status, text: await answer.text() };
};

describeWithEngine('where the engine forwards to the loopback interface', () => {
  let folder: string;
  let engine: Awaited<ReturnType<typeof forward>>;
  let env: Readonly<Record<string, string>>;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'agenthub-desktop-'));
    const path = join(folder, 'docker.sock');
    engine = await forward({ path }, { path: engineSocket }, asDesktop);
    env = { DOCKER_HOST: `unix://${path}` };
  });
  afterAll(async () => {
    await engine?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });

  test('a hub requires a token from the reload on that adds the first server with a network', async () => {
    await using hub = await startHub({ config: { servers: { echo } }, env });
    const { stdout } = await run('docker', [
      '-H',
      engineHost,
      'network',
      'inspect',
      'bridge',
      '-f',
      '{{(index .IPAM.Config 0).Gateway}}',
    ]);
    const gateway = stdout.trim();
    const loopback = { host: '127.0.0.1', port: Number(new URL(hub.url).port) };
    await using forwarder = await forward({ host: gateway, port: 0 }, loopback);
    const intrude = async (...given: readonly string[]): Promise<unknown> => {
      const words = ['run', '--rm', '--network', 'bridge', image, 'node', '-e', intruder, '--'];
      const at = [gateway, String(forwarder.port), ...given];
      return JSON.parse((await run('docker', ['-H', engineHost, ...words, ...at])).stdout);
    };

    const [opens, streams] = toNumbers(await intrude());
    assert.deepEqual([opens, streams], [200, 200], 'nothing has a network yet');
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/mcp`);
    await once(socket, 'open');
    const closed = once(socket, 'close');
    const stream = await fetch(`${hub.url}/sse`);

    await writeFile(hub.configFile, JSON.stringify({ servers: { echo, networked } }));
    await closed;
    await stream.text();
    const refused = await postTo(hub);
    assert.equal(refused.status, 401);
    const why =
      /Docker Desktop lets containers connect to this machine, and networked has a network/;
    assert.match(refused.text, why);
    assert.match(refused.text, /agenthub connect/);
    assert.match(hub.log(), why);

    assert.deepEqual(await intrude(), [401, 401, 401]);

    const file = join(hub.dataDir, 'call-token');
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const token = (await readFile(file, 'utf8')).trim();
    assert.equal((await postTo(hub, token)).status, 200);
    assert.equal(toNumbers(await intrude(`Bearer ${token}`))[2], 401, 'it administers nothing');
    const health = await fetch(`${hub.url}/health`, {
      headers: { authorization: `Bearer ${token}` },
    });
    assert.match(await health.text(), why);

    await writeFile(hub.configFile, JSON.stringify({ servers: { echo } }));
    await until(
      () => postTo(hub),
      ({ status }) => status === 200,
      15_000,
    );
  });

  test('a package that is built with a network requires a token, which is the same after the next start', async () => {
    const dataDir = join(folder, 'data');
    const built = { package: '@modelcontextprotocol/server-memory@2025.9.25', auto_start: false };
    const config = { servers: { echo, built } };
    let token = '';
    for (const start of [1, 2]) {
      await using hub = await startHub({ config, env, dataDir });
      const refused = await postTo(hub);
      assert.equal(refused.status, 401);
      assert.match(refused.text, /built has a network or is built with one/);
      const kept = (await readFile(join(dataDir, 'call-token'), 'utf8')).trim();
      if (start === 2) assert.equal(kept, token);
      token = kept;
      assert.equal((await postTo(hub, token)).status, 200);
    }
  });

  test('a hub whose servers have no network requires none, and nor do remote servers', async () => {
    await using hub = await startHub({ config: { servers: { echo } }, env });
    assert.equal((await postTo(hub)).status, 200);
    await using plain = await startHub({ config: { servers: { echo, networked } } });
    assert.equal((await postTo(plain)).status, 200);
  });
});

const toNumbers = (found: unknown): readonly number[] =>
  Array.isArray(found) ? found.map(Number) : [];
