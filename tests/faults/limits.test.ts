import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { type Socket, connect } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { connect as connectClient } from '#helpers/client';
import { type HubProcess, startHub, until } from '#helpers/hub-process';
import { byLength } from '#helpers/length';
import { openSession, posting, send } from '../transports/raw.ts';

const mebibyte = 2 ** 20;
const maxConnections = 24;
const sessionsBegun = byLength({ short: 1_200, long: 12_000 });

const echo = {
  command: process.execPath,
  args: [join(import.meta.dirname, '../fixtures/servers/echo.mjs')],
  runtime: 'process',
  auto_start: true,
};

/** Opens a connection that stays open, and collects what it receives. */
async function open(hub: HubProcess) {
  const { hostname, port } = new URL(hub.url);
  const socket: Socket = connect(Number(port), hostname);
  let answer = '';
  socket.setEncoding('latin1').on('data', (text: string) => (answer += text));
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  return { socket, answer: () => answer };
}

const startBounded = (bounds: Readonly<Record<string, string>>, config: object = {}) =>
  startHub({
    config: { ...config, servers: { echo } },
    env: { DOCKER_HOST: 'unix:///nonexistent.sock', ...bounds },
  });

describe('the bounds of all clients together', () => {
  test('a connection above MAX_CONNECTIONS gets 503 with Retry-After', async () => {
    await using hub = await startBounded({ MAX_CONNECTIONS: String(maxConnections) });
    const all = await Promise.all(Array.from({ length: maxConnections }, () => open(hub)));
    const refused = await until(
      async () => await send(`${hub.url}/health`),
      ({ status }) => status === 503,
      10_000,
    );
    assert.equal(refused.headers['retry-after'], '1');
    const { error } = await refused.json();
    assert.match(JSON.stringify(error), /HUB_SERVER_BUSY.*as many as MAX_CONNECTIONS allows/);
    assert.ok(
      all.every(({ socket, answer }) => !socket.destroyed && answer() === ''),
      'those that are open stay so',
    );
    for (const { socket } of all) socket.destroy();
    const served = await until(
      async () => await send(`${hub.url}/health`),
      ({ status }) => status === 200,
      10_000,
    );
    assert.equal(served.status, 200);
  });

  test('a named client has half of MAX_CONNECTIONS at most, and gets 503 above it', async () => {
    const tokenOf = (name: string) => `token-of-${name}-which-is-long-enough`;
    const digestOf = (name: string) => createHash('sha256').update(tokenOf(name)).digest('hex');
    const names = ['greedy', 'modest'];
    const clients = Object.fromEntries(
      names.map(name => [name, { token: `sha256:${digestOf(name)}` }]),
    );
    const bounds = { MAX_CONNECTIONS: String(maxConnections) };
    await using hub = await startBounded(bounds, { clients });
    const headOf = (line: string, name: string) =>
      `${line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${tokenOf(name)}\r\n`;
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    const posted =
      `${headOf('POST /mcp/echo', 'greedy')}content-type: application/json\r\n` +
      `accept: application/json, text/event-stream\r\ncontent-length: ${ping.length}\r\n\r\n${ping}`;
    const upgraded =
      `${headOf('GET /mcp/echo', 'greedy')}connection: upgrade\r\nupgrade: websocket\r\n` +
      'sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n';
    // Plain POSTs, requests of Node's HTTP server and upgrades are admitted in different places.
    const requests = [posted, `${headOf('GET /health', 'greedy')}\r\n`, upgraded];
    const greedy = await Promise.all(
      Array.from({ length: maxConnections - 2 }, async (_, index) => {
        const one = await open(hub);
        one.socket.write(requests[index % requests.length] ?? '');
        await until(
          async () => one.answer(),
          answer => answer.startsWith('HTTP/1.1 '),
          10_000,
        );
        return one;
      }),
    );
    const refused = greedy.filter(({ answer }) => answer().startsWith('HTTP/1.1 503 '));
    assert.equal(greedy.length - refused.length, maxConnections / 2);
    for (const { answer } of refused) {
      assert.match(answer(), /\r\nretry-after: 1\r\n/i);
      assert.match(answer(), /greedy.* has 12 connections open.*half of MAX_CONNECTIONS/);
    }
    const authorization = `Bearer ${tokenOf('modest')}`;
    const health = () => send(`${hub.url}/health`, { headers: { authorization } });
    assert.equal((await health()).status, 200);
    for (const { socket } of greedy) socket.destroy();
    const again = await until(
      async () =>
        await send(`${hub.url}/health`, {
          headers: { authorization: `Bearer ${tokenOf('greedy')}` },
        }),
      ({ status }) => status === 200,
      10_000,
    );
    assert.equal(again.status, 200);
  });

  test('unfinished bodies above MAX_UNFINISHED_BYTES get 503, and others are served', async () => {
    await using hub = await startBounded({ MAX_UNFINISHED_BYTES: String(mebibyte) });
    const head =
      `POST /mcp/echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `accept: application/json, text/event-stream\r\ncontent-length: ${2 * mebibyte}\r\n\r\n`;
    const all = await Promise.all(Array.from({ length: 12 }, () => open(hub)));
    for (const { socket } of all) {
      socket.write(head);
      socket.write(Buffer.alloc(mebibyte, 0x20));
    }
    await using client = await connectClient(`${hub.url}/mcp/echo`);
    assert.equal(await client.call('echo', { text: 'meanwhile' }), 'meanwhile');
    const answers = await until(
      async () => all.map(({ answer }) => answer()).filter(answer => answer !== ''),
      ({ length }) => length >= all.length / 2,
      15_000,
    );
    for (const answer of answers) {
      assert.match(answer, /^HTTP\/1\.1 503 .*\r\nretry-after: 1\r\n/is);
      assert.match(answer, /HUB_SERVER_BUSY.*more than 1048576 bytes of requests/s);
    }
    for (const { socket } of all) socket.destroy();
  });

  test(
    'a client that starts many sessions ends no session of another client',
    { timeout: 120_000 },
    async () => {
      // This limit exceeds the number of concurrent starts: the hub ends no sessions in use for new ones, which would
      // get 503.
      await using hub = await startBounded({ MAX_SESSIONS_PER_CLIENT: '10' });
      const url = `${hub.url}/mcp`;
      await using client = await connectClient(`${hub.url}/mcp/echo`);
      const other = await openSession(url);
      const initialize = JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: {
          protocolVersion: '2025-11-25',
          capabilities: {},
          clientInfo: { name: 'greedy', version: '1' },
        },
      });
      let begun = 0;
      async function begin(): Promise<void> {
        while (begun++ < sessionsBegun) {
          const response = await fetch(url, { method: 'POST', headers: posting, body: initialize });
          assert.equal(response.status, 200);
          await response.arrayBuffer();
        }
      }
      await Promise.all(Array.from({ length: 8 }, begin));
      const listed = await other.post({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
      assert.equal(listed.status, 200);
      assert.equal(await client.call('echo', { text: 'still there' }), 'still there');
      const health = await (await send(`${hub.url}/health`)).json();
      assert.ok(Number(Reflect.get(health, 'sessions')) < 20, JSON.stringify(health));
    },
  );
});
