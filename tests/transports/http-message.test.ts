import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, request } from 'node:http';
import { describe, test } from 'vitest';
import { until } from '#helpers/hub';
import { idOf, sendJson } from '../../hub/transports/http-message.ts';

test('a response that its client does not read is dropped, and one that is read slowly arrives completely', async () => {
  const body = Buffer.alloc(32 * 1024 * 1024, 0x20);
  const server = createServer((_request, response) => sendJson(response, 200, body));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  try {
    const client = request({ port, host: '127.0.0.1', agent: false }).end();
    client.on('error', () => {});
    const accepted = once(server, 'connection');
    client.on('response', message => message.on('error', () => {}));
    const [socket] = await accepted;
    await until(() => socket.timeout === 60_000);
    assert.ok(socket.writableLength > 0);
    // Node emits `timeout` when nothing was read for that long.
    socket.emit('timeout');
    await until(() => socket.destroyed);
    const reading = request({ port, host: '127.0.0.1', agent: false }).end();
    const [message] = await once(reading, 'response');
    let length = 0;
    for await (const chunk of message) length += chunk.length;
    assert.equal(length, body.length);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

describe('the id of a body', () => {
  const rows: readonly (readonly [string, string])[] = [
    ['{"jsonrpc":"2.0","id":7,"method":"ping"}', '7'],
    ['{"jsonrpc":"2.0","id":"a","method":"ping"}', '"a"'],
    ['{"jsonrpc":"2.0","method":"ping"}', 'null'],
    ['{"jsonrpc":"2.0","id":7,"result":{}}', 'null'],
    ['[{"jsonrpc":"2.0","id":7,"method":"ping"}]', 'null'],
    ['{"jsonrpc":', 'null'],
    ['', 'null'],
  ];
  for (const [body, id] of rows)
    test(`${body || 'that is empty'} is ${id}`, () => assert.equal(idOf(Buffer.from(body)), id));
  test('that was not read is null', () => assert.equal(idOf(undefined), 'null'));
});
