import assert from 'node:assert/strict';
import { once } from 'node:events';
import { request } from 'node:http';
import { describe, test } from 'vitest';
import { type TestHub, startHub, until } from '#helpers/hub';
import { talk } from '../contracts/client-transport.ts';
import { openWebSocket } from './raw-clients.ts';
import { modernHeaders, modernRequest, openSession, posting, send } from './raw.ts';

const echo = [{ name: 'echo' }];
const graceMs = 30_000;
const slow = { name: 'slow', arguments: { ms: 60_000 } };

const initialize = {
  protocolVersion: '2025-11-25',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
};

/** Starts a hub that is stopping, but waits for the pending call of a client. */
async function startStopping() {
  const hub = await startHub(echo);
  const client = await openWebSocket(hub, 'echo');
  await talk(client).ask(0, 'initialize', initialize);
  client.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: slow });
  await until(() => hub.server('echo').running?.upstream.inFlight() === 1);
  const session = await openSession(`${hub.url}/mcp`);
  const drained = Promise.all([hub.streamable.drain(graceMs), hub.connections.drain(graceMs)]);
  return {
    hub,
    session,
    client,
    async [Symbol.asyncDispose]() {
      client.socket.terminate();
      await drained;
      await hub[Symbol.asyncDispose]();
    },
  };
}

/** Requests an upgrade to WebSocket, and returns the response. */
async function upgrade({ url }: TestHub) {
  const outgoing = request(`${url}/mcp`, {
    agent: false,
    headers: {
      connection: 'Upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
    },
  });
  outgoing.on('upgrade', (_response, socket) => socket.destroy()).end();
  const [response] = await Promise.race([once(outgoing, 'response'), once(outgoing, 'upgrade')]);
  let text = '';
  if (response.statusCode !== 101) for await (const chunk of response) text += String(chunk);
  return { status: response.statusCode, headers: response.headers, body: async () => text };
}

describe('a hub that is stopping', () => {
  test('refuses new connections with 503, with a reason and Retry-After', async () => {
    await using stopping = await startStopping();
    const { hub, session } = stopping;
    const opening = { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize };
    const post = { method: 'POST', headers: posting, body: opening };
    const listing = { method: 'POST', headers: modernHeaders('tools/list') };
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const rows = [
      ['a WebSocket', await upgrade(hub)],
      ['a stream of events', await send(`${hub.url}/sse`)],
      ['a session', await send(`${hub.url}/mcp`, post)],
      ['a request of a session', await session.post(ping)],
      ['the stream of a session', await session.get()],
      [
        'a single call',
        await send(`${hub.url}/mcp/echo/tools/call`, { method: 'POST', body: slow }),
      ],
      [
        'a stateless request',
        await send(`${hub.url}/mcp`, { ...listing, body: modernRequest(1, 'tools/list') }),
      ],
    ] as const;
    for (const [what, response] of rows) {
      assert.equal(response.status, 503, what);
      assert.equal(response.headers['retry-after'], '5', what);
      assert.match(await response.body(), /"code":"HUB_SHUTTING_DOWN","retryable":true/, what);
    }
    assert.equal(hub.connections.size, 1, 'the client that was there is still served');
    assert.equal(stopping.client.socket.readyState, stopping.client.socket.OPEN);
  });
});
