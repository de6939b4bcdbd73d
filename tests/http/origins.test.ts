import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { WebSocket } from 'ws';
import { type TestHub, startHub } from '#helpers/hub';
import { send } from '../transports/raw.ts';

const allowed = 'https://notes.example';

/** Opens a WebSocket with this Origin. Resolves with `open`, or with an error message that contains the status. */
const openFrom = (hub: TestHub, origin: string): Promise<string> =>
  new Promise(resolve => {
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/mcp`, { origin });
    socket.on('open', () => {
      socket.terminate();
      resolve('open');
    });
    socket.on('error', error => resolve(error.message));
  });

describe('a page', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub([{ name: 'echo' }], { http: { allowedOrigins: [allowed] } });
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  const foreign = ['http://localhost:3000', 'http://127.0.0.1:1', 'https://evil.example', 'null'];
  for (const origin of foreign) {
    test(`of ${origin} can open no WebSocket and no stream`, async () => {
      assert.match(await openFrom(hub, origin), /403/);
      for (const path of ['/sse', '/mcp', '/dashboard/events'])
        assert.equal((await send(`${hub.url}${path}`, { headers: { origin } })).status, 403, path);
    });

    test(`of ${origin} can change nothing, whatever content type it sends`, async () => {
      const { running } = hub.server('echo');
      for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/json'])
        for (const [path, body] of [
          ['/mcp/echo/tools/call', { name: 'echo', arguments: { text: 'hello' } }],
          ['/servers/echo/restart', undefined],
        ] as const) {
          const headers = { origin, 'content-type': type };
          const sent = { method: 'POST', headers, ...(body && { body }) };
          assert.equal((await send(`${hub.url}${path}`, sent)).status, 403, `${path} as ${type}`);
        }
      assert.equal(hub.server('echo').running, running);
      assert.equal(hub.router.inFlight, 0);
    });
  }

  test('of the hub itself and of an allowed origin can open a WebSocket', async () => {
    for (const origin of [hub.url, allowed]) assert.equal(await openFrom(hub, origin), 'open');
  });

  test('that may call can send JSON, and nothing that a form could send', async () => {
    const url = `${hub.url}/mcp/echo/tools/call`;
    const body = { name: 'echo', arguments: { text: 'hello' } };
    for (const origin of [hub.url, allowed])
      for (const [type, status] of [
        ['application/json', 200],
        ['text/plain', 415],
        ['application/x-www-form-urlencoded', 415],
      ] as const) {
        const headers = { origin, 'content-type': type };
        assert.equal((await send(url, { method: 'POST', headers, body })).status, status, type);
      }
  });
});
