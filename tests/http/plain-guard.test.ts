import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'vitest';
import { startHub, until } from '#helpers/hub';

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

test('a request without the token is refused behind a call in flight that has it', async () => {
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
