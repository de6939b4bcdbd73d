import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'vitest';
import { settled, startHub, until } from '#helpers/hub-process';
import { openSse, openWebSocket } from '../transports/raw-clients.ts';
import { posting, send } from '../transports/raw.ts';

const echo = join(import.meta.dirname, '../fixtures/servers/echo.mjs');
const entry = { command: process.execPath, args: [echo], runtime: 'process', auto_start: true };
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: {},
    clientInfo: { name: 'test', version: '1' },
  },
};
const listening = {
  jsonrpc: '2.0',
  id: 'l',
  method: 'subscriptions/listen',
  params: {
    notifications: { toolsListChanged: true },
    _meta: {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
      'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
    },
  },
};

test('a server that the config has no more takes its clients along, and those of others stay', async () => {
  await using hub = await startHub({ config: { servers: { gone: entry, kept: entry } } });
  assert.deepEqual(await settled(hub, 60_000), { gone: 'running', kept: 'running' }, hub.log());

  /** Opens a session over HTTP with its GET stream. */
  const openSession = async (server: string) => {
    const url = `${hub.url}/mcp/${server}`;
    const opened = await send(url, { method: 'POST', headers: posting, body: initialize });
    assert.equal(opened.status, 200);
    const headers = { 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const stream = await send(url, { headers: { accept: 'text/event-stream', ...headers } });
    assert.equal(stream.status, 200);
    const ping = { jsonrpc: '2.0', id: 2, method: 'ping' };
    const status = async () =>
      (await send(url, { method: 'POST', headers: { ...posting, ...headers }, body: ping })).status;
    return { stream, status };
  };
  const [gone, kept] = await Promise.all([openSession('gone'), openSession('kept')]);
  const [goneSocket, keptSocket] = await Promise.all([
    openWebSocket(hub, 'gone'),
    openWebSocket(hub, 'kept'),
  ]);
  const closed = once(goneSocket.socket, 'close');
  const sse = await openSse(hub, 'gone');
  const listen = await send(`${hub.url}/mcp/gone`, {
    method: 'POST',
    headers: {
      ...posting,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: listening,
  });
  assert.equal(listen.status, 200, listen.text());

  await writeFile(hub.configFile, JSON.stringify({ servers: { kept: entry } }));
  const reloaded = await send(`${hub.url}/config/reload`, {
    method: 'POST',
    headers: hub.ownerHeaders,
  });
  assert.equal(reloaded.status, 200, reloaded.text());

  const [code, reason] = await closed;
  assert.deepEqual([code, String(reason)], [1001, 'its server was removed']);
  await until(
    async () => [gone.stream.ended(), sse.stream.closed, listen.ended()],
    ended => ended.every(Boolean),
    5_000,
  );
  assert.match(listen.text(), /"id":"l".*"resultType":"complete"/);
  assert.equal(await gone.status(), 404);

  assert.equal(await kept.status(), 200);
  assert.equal(kept.stream.ended(), false);
  keptSocket.send(initialize);
  await until(
    // Notifications about changed lists may have arrived as well.
    async () => keptSocket.received.filter(({ id }) => id === initialize.id).length,
    count => count === 1,
    5_000,
  );

  // An entry that is added again under its name is a new server, so its clients must initialize again.
  await writeFile(hub.configFile, JSON.stringify({ servers: { kept: entry, gone: entry } }));
  assert.equal(
    (await send(`${hub.url}/config/reload`, { method: 'POST', headers: hub.ownerHeaders })).status,
    200,
  );
  assert.equal(await gone.status(), 404);
  assert.equal(await (await openSession('gone')).status(), 200);
});
