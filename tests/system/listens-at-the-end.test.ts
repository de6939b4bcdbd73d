import assert from 'node:assert/strict';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { test } from 'vitest';
import { isObject } from '#core';
import { settled, startHub } from '#helpers/hub-process';
import { openWebSocket } from '../transports/raw-clients.ts';

const meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': {},
};
const echo = join(import.meta.dirname, '../fixtures/servers/echo.mjs');

test('a hub that stops ends what listens over a WebSocket in order, before it closes that', async () => {
  await using hub = await startHub({
    config: {
      servers: {
        echo: { command: process.execPath, args: [echo], runtime: 'process', auto_start: true },
      },
    },
  });
  assert.deepEqual(await settled(hub, 60_000), { echo: 'running' }, hub.log());
  const client = await openWebSocket(hub);
  const heard: string[] = [];
  const listed = Promise.withResolvers<void>();
  const acknowledged = Promise.withResolvers<void>();
  client.socket.on('message', (data: Buffer) => {
    const { id, method, result, error }: { [name: string]: unknown } = JSON.parse(data.toString());
    const what = isObject(result) ? String(result['resultType']) : JSON.stringify(error);
    if (id === 'tools') listed.resolve();
    heard.push(id === undefined ? String(method) : `${JSON.stringify(id)} ${what}`);
    if (method === 'notifications/subscriptions/acknowledged') acknowledged.resolve();
  });
  const closed = once(client.socket, 'close').then(([code]) =>
    heard.push(`closed ${String(code)}`),
  );
  // A list change at the server's start is announced with a delay. A listener that starts earlier would receive it.
  client.send({ jsonrpc: '2.0', id: 'tools', method: 'tools/list', params: { _meta: meta } });
  await listed.promise;
  await delay(1_000);
  const notifications = { toolsListChanged: true, resourceSubscriptions: ['echo://greeting'] };
  client.send({
    jsonrpc: '2.0',
    id: 'l',
    method: 'subscriptions/listen',
    params: { notifications, _meta: meta },
  });
  await acknowledged.promise;
  heard.length = 0;
  assert.equal(await hub.stop(), 0, hub.log());
  await closed;
  assert.deepEqual(heard, ['"l" complete', 'closed 1001']);
});
