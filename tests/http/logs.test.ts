import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { ownerHeaders, startHub, until } from '#helpers/hub';
import { openClient } from '../routing/clients.ts';
import { type Response, send } from '../transports/raw.ts';

const linesOf = (stream: Response) =>
  stream.messages().flatMap(({ lines }) => (Array.isArray(lines) ? lines.map(String) : []));

const list = (hub: Parameters<typeof openClient>[0]) =>
  openClient(hub).call('calendar_create_event', { title: 'ghp_abcdefghijklmnopqrstuvwxyz0123' });

describe('GET /servers/{name}/logs', () => {
  test('gives the last lines that a server wrote to stderr', async () => {
    await using hub = await startHub([{ name: 'calendar' }]);
    const url = `${hub.url}/servers/calendar/logs`;
    const empty = await (await send(url, { headers: ownerHeaders })).json();
    assert.deepEqual(empty, { name: 'calendar', lines: [] });
    await list(hub);
    await until(() => hub.server('calendar').stderr() !== '');
    const { lines } = await (await send(url, { headers: ownerHeaders })).json();
    assert.ok(Array.isArray(lines));
    assert.match(String(lines[0]), /^create_event: /);
  });

  test('follows them as they come, without secrets, until the server is removed', async () => {
    await using hub = await startHub([{ name: 'calendar' }]);
    await list(hub);
    await until(() => hub.server('calendar').stderr() !== '');
    const url = `${hub.url}/servers/calendar/logs`;
    const streams = await Promise.all([
      send(`${url}?follow=true`, { headers: ownerHeaders }),
      send(url, { headers: { ...ownerHeaders, accept: 'text/event-stream' } }),
    ]);
    for (const stream of streams) await until(() => linesOf(stream).length === 1);
    await list(hub);
    for (const stream of streams) {
      await until(() => linesOf(stream).length === 2);
      assert.match(linesOf(stream)[1] ?? '', /^create_event: .*\[redacted\]/);
      assert.doesNotMatch(linesOf(stream)[1] ?? '', /ghp_/);
    }
    await hub.servers.apply({ servers: [], naming: { separator: '_', maxLength: 46 } });
    for (const stream of streams) await until(() => stream.ended());
  });

  test.for([
    ['nobody/logs', 404, /HUB_SERVER_UNKNOWN/],
    ['calendar/logs?follow=maybe', 400, /follow: \\"maybe\\" is not allowed/],
    ['calendar/logs?tail=5', 400, /tail: is no parameter/],
  ] as const)('refuses /servers/%s', async ([path, status, message]) => {
    await using hub = await startHub([{ name: 'calendar', autoStart: false }]);
    const response = await send(`${hub.url}/servers/${path}`, { headers: ownerHeaders });
    assert.equal(response.status, status);
    assert.match(await response.body(), message);
  });
});
