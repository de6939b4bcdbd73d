import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'vitest';
import { digestOf } from '#access';
import { startHub, until } from '#helpers/hub';
import { openScratchClients, plainClient } from '../access/scratch.ts';

const request = (path: string, body: object, ...headers: readonly string[]) => {
  const text = JSON.stringify(body);
  return [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    ...headers,
    `content-length: ${Buffer.byteLength(text)}`,
    '',
    text,
  ].join('\r\n');
};

const initialize = {
  jsonrpc: '2.0',
  id: 'second',
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'a', version: '1' },
  },
};

test('a request without the token is refused behind a call in flight with the token', async () => {
  await using hub = await startHub([{ name: 'echo' }], { http: { token: 'secret' } });
  const { hostname, port } = new URL(hub.url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  await once(socket, 'connect');
  const own = 'authorization: Bearer secret';
  const first = { ...initialize, id: 'first' };
  socket.write(request('/mcp/echo', first, own));
  await until(() => text.includes('"first"'));
  const session = /mcp-session-id: (\S+)/i.exec(text)?.[1] ?? assert.fail(text);
  const call = {
    jsonrpc: '2.0',
    id: 'call',
    method: 'tools/call',
    params: { name: 'slow', arguments: { ms: 100 } },
  };
  socket.write(request('/mcp/echo', call, own, `mcp-session-id: ${session}`));
  await until(() => hub.router.inFlight === 1);
  socket.write(request('/mcp/echo', initialize));
  await until(
    () => (text.match(/HTTP\/1\.1 /g)?.length ?? 0) === 3,
    () => text,
  );
  const statuses = Array.from(text.matchAll(/HTTP\/1\.1 (\d+) /g), ([, status]) => status);
  assert.deepEqual(statuses, ['200', '200', '401']);
  assert.equal(hub.streamable.sessionCount, 1);
  socket.destroy();
});

test.each([
  ['the plain posts', 'content-type: application/json'],
  ["the short way of Node's HTTP", 'te: trailers'],
  ['a route', 'x-any: 1'],
])(
  'a request whose token is revoked while its body arrives is refused, read by %s',
  async (what, header) => {
    const tokenDigest = digestOf('cursor-token').toString('hex');
    await using scratch = await openScratchClients({
      clients: [plainClient('cursor', { tokenDigest })],
    });
    const clients = await scratch.open();
    await using hub = await startHub([{ name: 'echo' }], { guard: { clients } });
    const { hostname, port } = new URL(hub.url);
    const socket = connect({ host: hostname, port: Number(port), noDelay: true });
    let text = '';
    socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
    await once(socket, 'connect');
    const own = 'authorization: Bearer cursor-token';
    const whole = request(
      '/mcp/echo',
      initialize,
      own,
      ...(what === 'the plain posts' ? [] : [header]),
    );
    const sent =
      what === 'a route' ? whole.replace('/json\r\n', '/json; charset=utf-8\r\n') : whole;
    // The answer to the first request shows that the hub has read the head of the second.
    socket.write(sent);
    await until(() => text.includes('"second"'));
    const sessions = hub.streamable.sessionCount;
    const requests = clients.list()[0]?.seenAt;
    scratch.pass(1_000);
    socket.write(sent.slice(0, -20));
    await until(() => clients.list()[0]?.seenAt !== requests);
    scratch.set({});
    const refreshed = clients.refresh();
    socket.write(sent.slice(-20));
    await until(
      () => text.includes('HTTP/1.1 401'),
      () => text,
    );
    assert.equal(
      hub.streamable.sessionCount,
      sessions - 1,
      'its session ended, and none was opened',
    );
    await refreshed;
    socket.destroy();
  },
);
