import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type Socket, connect } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { connect as connectClient } from '#helpers/client';
import { type HubProcess, startHub, until } from '#helpers/hub-process';

const mebibyte = 2 ** 20;
const mostBytes = 300 * mebibyte;
/** Limit for the hub's memory after a flood, as a multiple of that before. */
const mostKept = 1.3;

/** Returns a value of /proc/<pid>/status in bytes. */
async function memoryOf({ pid }: HubProcess, line: 'VmRSS' | 'VmHWM'): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(new RegExp(`${line}:\\s+(\\d+)`).exec(status)?.[1]) * 1024;
}

const inMebibytes = (bytes: number) => `${Math.round(bytes / mebibyte)} MiB`;

/** Opens a connection for writing, whose input is read only if `reads` is true. */
async function open(hub: HubProcess, reads: boolean): Promise<Socket> {
  const { hostname, port } = new URL(hub.url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => socket.destroy());
  await once(socket, 'connect');
  if (reads) socket.resume();
  else socket.pause();
  return socket;
}

/** Returns a masked text frame of RFC 6455. The mask is zero, so the text is unchanged. */
function frame(text: string): Buffer {
  const payload = Buffer.from(text);
  const head = Buffer.from([0x81, 0xfe, payload.length >> 8, payload.length & 0xff, 0, 0, 0, 0]);
  return Buffer.concat([head, payload]);
}

const upgrade =
  `GET /mcp/echo HTTP/1.1\r\nhost: localhost\r\nupgrade: websocket\r\nconnection: Upgrade\r\n` +
  `sec-websocket-version: 13\r\nsec-websocket-key: ${randomBytes(16).toString('base64')}\r\n\r\n`;

const echo = {
  command: process.execPath,
  args: [join(import.meta.dirname, '../fixtures/servers/echo.mjs')],
  runtime: 'process',
  auto_start: true,
};

describe.skipIf(process.platform !== 'linux')('the memory of a hub', { timeout: 120_000 }, () => {
  let hub: HubProcess;

  beforeAll(async () => {
    hub = await startHub({
      config: {
        servers: {
          echo,
          neighbour: echo,
        },
      },
      // The hub's image sets the same malloc option (decisions/0007).
      env: { DOCKER_HOST: 'unix:///nonexistent.sock', MALLOC_TRIM_THRESHOLD_: '131072' },
    });
  });

  afterAll(() => hub?.[Symbol.asyncDispose]());

  /** Floods the hub through `count` connections while another client is served, and checks the hub's memory. */
  async function flood(
    what: string,
    count: number,
    reads: boolean,
    write: (socket: Socket) => void,
  ) {
    await using client = await connectClient(`${hub.url}/mcp/neighbour`);
    await client.call('echo', { text: 'x'.repeat(100_000) });
    const before = await memoryOf(hub, 'VmRSS');
    // Reset the peak (VmHWM) of the process.
    await writeFile(`/proc/${hub.pid}/clear_refs`, '5');
    const sockets = await Promise.all(Array.from({ length: count }, () => open(hub, reads)));
    for (const socket of sockets) write(socket);
    const text = randomBytes(10_000).toString('hex');
    for (let call = 0; call < 50; call++)
      assert.equal(await client.call('echo', { text }), text, 'who keeps to the bounds is served');
    await until(
      async () => hub.log(),
      log => log.includes(`too many bytes of ${what}`),
      15_000,
    );
    const peak = await memoryOf(hub, 'VmHWM');
    for (const socket of sockets) socket.destroy();
    assert.ok(peak <= mostBytes, `at most ${inMebibytes(peak)}`);
    // Paused connections notice after some seconds that they are closed, and a busy machine delays garbage collection.
    const after = await until(
      () => memoryOf(hub, 'VmRSS'),
      resident => resident <= mostKept * before,
      60_000,
    );
    const said = [before, peak, after].map(inMebibytes);
    process.stdout.write(`memory before, at most and after: ${said.join(', ')}\n`);
  }

  /** Calls a tool over HTTP, with a body larger than the budget of all clients. */
  async function echoLarge(text: string): Promise<string> {
    await using client = await connectClient(`${hub.url}/mcp/echo`);
    return await client.call('echo', { text });
  }

  test('stays bounded if 200 connections send bodies of 4 MiB without an end', async () => {
    const body = Buffer.alloc(4 * mebibyte, 0x20);
    const head =
      `POST /mcp/echo HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n` +
      `accept: application/json, text/event-stream\r\ncontent-length: ${body.length + 1}\r\n\r\n`;
    await flood('requests', 200, true, socket => {
      socket.write(head);
      socket.write(body);
    });
  });

  test('stays bounded if 40 WebSockets read none of their responses', async () => {
    const message = (id: number, method: string, params: object) =>
      frame(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
    const calls = Array.from({ length: 18 }, (_, index) =>
      message(index + 1, 'tools/call', { name: 'bytes', arguments: { n: mebibyte } }),
    );
    const initialize = message(0, 'initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'does-not-read', version: '1' },
    });
    await flood('answers', 40, false, socket => {
      socket.write(upgrade);
      socket.write(Buffer.concat([initialize, ...calls]));
    });
  });

  test('stays bounded if 40 WebSockets send messages of 4 MiB without an end', async () => {
    const bytes = 4 * mebibyte;
    const head = Buffer.from([0x81, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    head.writeUInt32BE(bytes + 1, 6);
    await flood('requests', 40, true, socket => {
      socket.write(upgrade);
      socket.write(head);
      socket.write(Buffer.alloc(bytes, 0x20));
    });
  });

  test('allows a body and a response that are each larger than the budgets', async () => {
    const text = 'x'.repeat(40 * mebibyte);
    // An idle connection must not count as a client that needs memory.
    const idle = new WebSocket(`${hub.url.replace('http', 'ws')}/mcp/neighbour`);
    await once(idle, 'open');
    // The hub notices after some seconds that the paused connections of the previous flood are closed.
    const echoed = await until(
      () => echoLarge(text).catch(String),
      answer => !answer.includes('HUB_SERVER_BUSY'),
      15_000,
    );
    assert.equal(echoed.length, text.length);
    idle.close();
  });
});
