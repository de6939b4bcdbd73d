import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { ownerHeaders, startHub, until } from '#helpers/hub';
import { openClient } from '../../routing/clients.ts';
import { type Response, send } from '../../transports/raw.ts';

const json = { 'content-type': 'application/json' };
const post = (url: string, body?: string | object, headers: Record<string, string> = json) =>
  send(url, {
    method: 'POST',
    headers: { ...ownerHeaders, ...(body !== undefined && headers) },
    ...(body !== undefined && { body }),
  });

describe('/servers', () => {
  test('lists servers, and starts, stops and restarts them', async () => {
    await using hub = await startHub([
      { name: 'echo', autoStart: false, env: { TOKEN: 'hunter2' } },
    ]);
    const at = (action: string) => `${hub.url}/servers/echo${action}`;
    const started = await post(at('/start'));
    assert.equal(started.status, 200, await started.body());
    const { state, instance, tools } = JSON.parse(await started.body());
    assert.equal(state, 'running');
    assert.equal(tools, 17);
    const shown = JSON.parse(await (await send(at(''))).body());
    assert.ok(shown.tool_names.includes('echo'));
    assert.equal(shown.last_error, null);
    const listed = await (await send(`${hub.url}/servers`)).body();
    assert.equal(JSON.parse(listed).servers.length, 1);
    assert.ok(!listed.includes('hunter2'));
    const restarted = JSON.parse(await (await post(at('/restart'))).body());
    assert.notEqual(restarted.instance.pid, instance.pid);
    const stopped = JSON.parse(await (await post(at('/stop'))).body());
    assert.equal(stopped.state, 'stopped');
    assert.equal(stopped.stopped_by_hand, true);
    const refused = await post(`${hub.url}/mcp/echo/tools/list`, {});
    assert.equal(refused.status, 409);
    assert.match(await refused.body(), /HUB_SERVER_STOPPED/);
    assert.equal((await post(at('/stop'))).status, 200, 'twice is harmless');
    assert.equal((await post(at('/restart'))).status, 200);
    assert.equal((await post(`${hub.url}/mcp/echo/tools/list`, {})).status, 200);
  });

  test('answers with the stderr of a server that fails to start', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary', autoStart: false },
      { name: 'off', file: 'echo.mjs', enabled: false, autoStart: false },
    ]);
    const failed = await post(`${hub.url}/servers/broken/start`);
    assert.equal(failed.status, 503);
    const { error } = JSON.parse(await failed.body());
    assert.equal(error.code, 'HUB_SERVER_FAILED');
    assert.ok(error.stderr);
    const again = await post(`${hub.url}/servers/broken/restart`);
    assert.equal(again.status, 503);
    const off = await post(`${hub.url}/servers/off/start`);
    assert.equal(off.status, 409);
    assert.match(await off.body(), /HUB_SERVER_DISABLED/);
  });

  test('refuses a body, invalid JSON, and unknown parameters of the path', async () => {
    await using hub = await startHub([{ name: 'echo', autoStart: false }]);
    const withBody = await post(`${hub.url}/servers/echo/start`, { force: true });
    assert.equal(withBody.status, 400);
    assert.match(await withBody.body(), /takes no body; it had force/);
    const broken = await post(`${hub.url}/servers/echo/start`, '{"force":');
    assert.equal(broken.status, 400);
    assert.match(await broken.body(), /HUB_REQUEST_INVALID/);
    assert.equal((await post(`${hub.url}/servers/echo/explode`)).status, 404);
    assert.equal(hub.server('echo').status.state, 'stopped');
  });
});

const linesOf = (stream: Response) =>
  stream.messages().flatMap(({ lines }) => (Array.isArray(lines) ? lines.map(String) : []));

const list = (hub: Parameters<typeof openClient>[0]) =>
  openClient(hub).call('calendar_create_event', { title: 'ghp_abcdefghijklmnopqrstuvwxyz0123' });

describe('GET /servers/{name}/logs', () => {
  test('has the last lines that a server wrote to stderr', async () => {
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

  test('follows the lines, without secrets, until the server is removed', async () => {
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
    ['calendar/logs?tail=5', 400, /tail: is not a parameter/],
  ] as const)('refuses /servers/%s', async ([path, status, message]) => {
    await using hub = await startHub([{ name: 'calendar', autoStart: false }]);
    const response = await send(`${hub.url}/servers/${path}`, { headers: ownerHeaders });
    assert.equal(response.status, status);
    assert.match(await response.body(), message);
  });
});
