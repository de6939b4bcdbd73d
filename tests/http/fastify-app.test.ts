import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startHub, ownerHeaders } from '#helpers/hub';
import { posting, send } from '../transports/raw.ts';

const echo = [{ name: 'echo' }];
const json = { 'content-type': 'application/json' };
const post = (url: string, body?: string | object, headers: Record<string, string> = json) =>
  send(url, {
    method: 'POST',
    headers: { ...ownerHeaders, ...(body !== undefined && headers) },
    ...(body !== undefined && { body }),
  });

describe('every path', () => {
  test('that does not exist is 404 with a reason; no response has a stack trace', async () => {
    await using hub = await startHub(echo);
    const bad = [
      await send(`${hub.url}/no/such/path`),
      await send(`${hub.url}/servers/nobody`),
      await send(`${hub.url}/health/nobody`),
      await send(`${hub.url}/health/__proto__`),
      await send(`${hub.url}/mcp/nobody`, { method: 'POST', headers: posting, body: {} }),
      await post(`${hub.url}/mcp/nobody/tools/list`, {}),
      await post(`${hub.url}/servers/nobody/stop`),
    ];
    for (const response of bad) {
      assert.equal(response.status, 404);
      const text = await response.body();
      assert.doesNotMatch(text, /\bat .+:\d+:\d+|node_modules|\.ts\b/);
      assert.ok(JSON.parse(text).error.message);
    }
    for (const path of ['/mcp/%', '/servers/%E0%A4%A', `/servers/${'x'.repeat(5_000)}`]) {
      const response = await send(`${hub.url}${path}`);
      assert.ok(response.status >= 400 && response.status < 500, path);
      assert.doesNotMatch(await response.body(), /\bat .+:\d+:\d+|node_modules/);
    }
  });

  test('with a name that is too long is refused with its beginning', async () => {
    await using hub = await startHub(echo);
    const response = await send(`${hub.url}/servers/${'x'.repeat(5_000)}/start?a`);
    assert.equal(response.status, 400);
    const { error } = JSON.parse(await response.body());
    assert.equal(
      error.message,
      `the request cannot be read: its path has the name "${'x'.repeat(59)}..., which is longer than 100 characters`,
    );
  });

  test('with an unknown method is 405 with the allowed methods', async () => {
    await using hub = await startHub(echo);
    const rows = [
      ['GET', '/servers/echo/start', 'POST'],
      ['GET', '/mcp/echo/tools/list', 'POST'],
      ['POST', '/health?verbose', 'GET'],
      ['DELETE', '/', 'GET'],
      ['PUT', '/mcp', 'GET, POST, DELETE'],
      ['OPTIONS', '/mcp/echo', 'GET, POST, DELETE'],
    ] as const;
    for (const [method, path, allow] of rows) {
      const response = await send(`${hub.url}${path}`, { method });
      assert.deepEqual([response.status, response.headers['allow']], [405, allow], path);
      assert.match(await response.body(), /is not a method of/);
    }
    assert.equal((await send(`${hub.url}/servers/echo/explode`)).status, 404);
  });
});

describe('a request to any route', () => {
  test('that is refused has the id of the request in its error, if it can be read', async () => {
    await using hub = await startHub(echo);
    const message = { jsonrpc: '2.0', id: 'mine', method: 'tools/list' };
    for (const path of ['/mcp/nobody', '/mcp/nobody/tools/list', '/mcp/echo/tools/call']) {
      const response = await post(`${hub.url}${path}`, message);
      assert.equal((await response.json())['id'], 'mine', path);
    }
  });

  test('with another type than JSON is refused, and the type is named', async () => {
    await using hub = await startHub(echo);
    for (const type of ['application/x-www-form-urlencoded', 'application/xml']) {
      const refused = await post(`${hub.url}/servers/echo/stop`, '{}', { 'content-type': type });
      assert.equal(refused.status, 400);
      const text = await refused.body();
      assert.match(text, /send JSON, with \\"Content-Type: application\/json\\"/);
      assert.ok(text.includes(type), text);
    }
    assert.equal(hub.server('echo').status.state, 'running');
  });

  test.each([
    ['{"allow":[}', /cannot be read: the body is not JSON: Unexpected token/],
    ['{"__proto__":{}}', /cannot be read: a member of the body is called \\"__proto__\\" or/],
    ['{"allow":["echo"],"allow":[]}', /cannot be read: a member of the body stands twice/],
    ['{"allow":[{"a":1,"a":2}]}', /cannot be read: a member of the body stands twice/],
    ['\ufeff {"allow":[]}', undefined],
  ])('with the body %j is refused with the reason: %s', async (body, reason) => {
    await using hub = await startHub(echo);
    const answer = await post(`${hub.url}/servers/echo/stop`, body);
    assert.equal(answer.status, 400);
    assert.match(await answer.body(), reason ?? /takes no body; it had allow/);
    assert.equal(hub.server('echo').status.state, 'running');
  });

  test('with a body that is nested too deep is refused with that reason', async () => {
    await using hub = await startHub(echo);
    const deep = `{"allow":${'['.repeat(600)}${']'.repeat(600)}}`;
    const answer = await post(`${hub.url}/servers/echo/stop`, deep);
    assert.equal(answer.status, 400);
    assert.match(await answer.body(), /or is nested in more than 512 levels/);
  });

  test('may have the content type of JSON without a body', async () => {
    await using hub = await startHub(echo);
    const started = await post(`${hub.url}/servers/echo/start`, '');
    assert.equal(started.status, 200, await started.body());
  });

  test('with a body above the limit is refused with 413', async () => {
    await using hub = await startHub(echo, { http: { maxBodyBytes: 1_000 } });
    for (const path of ['/mcp/echo/tools/call', '/mcp', '/servers/echo/start']) {
      const response = await post(`${hub.url}${path}`, { text: 'x'.repeat(2_000) });
      assert.equal(response.status, 413, path);
      const text = await response.body();
      assert.match(text, /larger than the hub takes: 1000 bytes by POST \/\w+/);
      assert.match(text, /"HUB_BODY_TOO_LARGE"/);
    }
  });
});
