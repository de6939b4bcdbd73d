import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { startHub, until } from '#helpers/hub';
import { talk } from '../contracts/client-transport.ts';
import { openSse } from './raw-clients.ts';
import { send } from './raw.ts';

const echo = [{ name: 'echo' }];
const json = { 'content-type': 'application/json' };
const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

const initialize = {
  protocolVersion: '2024-11-05',
  capabilities: {},
  clientInfo: { name: 'raw', version: '1' },
};

describe('HTTP with SSE', () => {
  test('sends the endpoint for messages first, each of which is answered with 202 and on the stream', async () => {
    await using hub = await startHub(echo, { start: false });
    const client = await openSse(hub);
    assert.match(client.endpoint, /^\/messages\?sessionId=[\w-]+$/);
    assert.equal(client.stream.headers['cache-control'], 'no-cache, no-transform');
    const posted = await send(`${hub.url}${client.endpoint}`, {
      method: 'POST',
      headers: json,
      body: ping,
    });
    assert.equal(posted.status, 202);
    assert.equal(await posted.body(), '');
    assert.deepEqual(await talk(client).answer(1), { jsonrpc: '2.0', id: 1, result: {} });
    client.close();
  });

  test('negotiates the revision that has this transport', async () => {
    await using hub = await startHub(echo);
    const client = talk(await openSse(hub, 'echo'));
    const { result } = await client.ask(0, 'initialize', initialize);
    assert.equal(Object(result).protocolVersion, '2024-11-05');
    client.close();
  });

  test('refuses messages for an unknown or ended session, and those that are not JSON', async () => {
    await using hub = await startHub([]);
    const client = await openSse(hub);
    const at = (path: string, headers: Readonly<Record<string, string>> = json) =>
      send(`${hub.url}${path}`, { method: 'POST', headers, body: ping });
    assert.equal((await at('/messages')).status, 404);
    const unknown = await at('/messages?sessionId=no-such');
    assert.equal(unknown.status, 404);
    assert.match(await unknown.body(), /"id":1,.*open the stream again/);
    assert.equal((await at(client.endpoint, { 'content-type': 'text/plain' })).status, 415);
    const compressed = await at(client.endpoint, { ...json, 'content-encoding': 'br' });
    assert.equal(compressed.status, 415);
    assert.match(await compressed.body(), /send the body uncompressed/);
    assert.equal(
      (await at(client.endpoint, { ...json, origin: 'https://evil.example' })).status,
      403,
    );
    assert.equal(client.received.length, 0);
    client.close();
    await until(() => hub.connections.size === 0);
    assert.equal((await at(client.endpoint)).status, 404);
  });

  test('accepts GET for the stream and POST for messages', async () => {
    await using hub = await startHub(echo, { start: false });
    for (const [method, path, allowed] of [
      ['POST', '/sse', 'GET'],
      ['POST', '/sse/echo', 'GET'],
      ['GET', '/messages', 'POST'],
    ] as const) {
      const refused = await send(`${hub.url}${path}`, { method });
      assert.equal(refused.status, 405);
      assert.equal(refused.headers['allow'], allowed);
    }
  });

  test('refuses messages above the bound', async () => {
    await using hub = await startHub([], { http: { maxBodyBytes: 100 } });
    const client = await openSse(hub);
    const body = JSON.stringify({ ...ping, params: { text: 'x'.repeat(100) } });
    const posted = await send(`${hub.url}${client.endpoint}`, {
      method: 'POST',
      headers: json,
      body,
    });
    assert.equal(posted.status, 413);
    client.close();
  });

  test('refuses streams above the bound with 503', async () => {
    await using hub = await startHub([], { connections: { maxConnections: 1 } });
    const client = await openSse(hub);
    const refused = await send(`${hub.url}/sse`);
    assert.equal(refused.status, 503);
    assert.match(await refused.body(), /HUB_SESSIONS_FULL/);
    client.close();
  });

  test('sends comments on a silent stream', async () => {
    const clock = createManualClock();
    await using hub = await startHub([], { clock });
    const stream = await send(`${hub.url}/sse`);
    await until(() => stream.text().includes('endpoint'));
    clock.advance(15_000);
    await until(() => stream.text().endsWith('\n\n: keep-alive\n\n'));
    clock.advance(15_000);
    await until(() => stream.text().endsWith(': keep-alive\n\n: keep-alive\n\n'));
    stream.cut();
  });

  test('drops a client that does not read, above the limit', async () => {
    await using hub = await startHub(echo, { connections: { maxUnsentBytes: 1024 * 1024 } });
    const client = await openSse(hub, 'echo');
    await talk(client).ask(0, 'initialize', initialize);
    client.stream.pause();
    for (let id = 1; id <= 20; id++)
      client.send({
        jsonrpc: '2.0',
        id,
        method: 'tools/call',
        params: { name: 'bytes', arguments: { n: 1024 * 1024 } },
      });
    await until(() => hub.connections.size === 0);
    assert.equal(hub.router.sessionCount, 0);
    client.stream.destroy();
  });

  test('is counted as a session by /health', async () => {
    await using hub = await startHub([]);
    const client = await openSse(hub);
    const health = await send(`${hub.url}/health`);
    assert.equal((await health.json())['sessions'], 1);
    client.close();
  });
});
