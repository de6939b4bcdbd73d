import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { admitted } from '#helpers/calls';
import { startHub, until, ownerHeaders } from '#helpers/hub';
import { createTestAccess } from '../../routing/test-access.ts';
import { send } from '../../transports/raw.ts';

const echo = [{ name: 'echo' }];
const json = { 'content-type': 'application/json' };
const post = (url: string, body?: string | object, headers: Record<string, string> = json) =>
  send(url, {
    method: 'POST',
    headers: { ...ownerHeaders, ...(body !== undefined && headers) },
    ...(body !== undefined && { body }),
  });

test.each([
  ['/mcp/', 'agenthub'],
  ['/mcp/echo/', 'echo'],
  ['/mcp/@small/', 'agenthub'],
])('%s is the endpoint as without the slash, for sessions too', async (path, name) => {
  const { access } = createTestAccess(echo, {
    profiles: [{ name: 'small', servers: ['echo'], tools: [], tags: [], hiddenTools: [] }],
  });
  await using hub = await startHub(echo, { access });
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} };
  const opened = await post(`${hub.url}${path}`, {
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params,
  });
  assert.equal(Object((await opened.json())['result'])['serverInfo'].name, name);
  const headers = { ...ownerHeaders, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
  const ended = await send(`${hub.url}${path}`, { method: 'DELETE', headers });
  assert.equal(ended.status, 204);
});

describe('POST /mcp/{server}/{method}', () => {
  test('accepts a request, or bare params, and starts the server', async () => {
    await using hub = await startHub([{ name: 'echo', autoStart: false }]);
    const url = `${hub.url}/mcp/echo/tools/call`;
    const params = { name: 'echo', arguments: { text: 'hello\nworld' } };
    const bare = await post(url, JSON.stringify(params, null, 2));
    assert.equal(bare.status, 200);
    assert.match(String(bare.headers['content-type']), /^application\/json/);
    assert.deepEqual(await bare.json(), {
      jsonrpc: '2.0',
      id: 1,
      result: { content: [{ type: 'text', text: 'hello\nworld' }] },
    });
    const whole = await post(url, { jsonrpc: '2.0', id: 'mine', method: 'tools/call', params });
    assert.equal((await whole.json())['id'], 'mine');
    const empty = await send(`${hub.url}/mcp/echo/tools/list`, { method: 'POST' });
    assert.ok((await empty.json())['result']);
    const refused = await post(`${hub.url}/mcp/echo/no/such`, {});
    assert.equal(refused.status, 200);
    assert.match(await refused.body(), /-32601/);
    assert.equal(hub.router.sessionCount, 0);
  });

  test('refuses other bodies with 400 and the JSON-RPC code', async () => {
    await using hub = await startHub(echo);
    const url = `${hub.url}/mcp/echo/tools/call`;
    const rows: readonly (readonly [string, RegExp])[] = [
      ['{"name":', /not JSON/],
      ['hello', /not JSON/],
      ['[]', /must be an object/],
      ['[{"jsonrpc":"2.0"}]', /must be an object/],
      ['"{"', /must be an object/],
      ['"a{b"', /must be an object/],
      ['["{"]', /must be an object/],
      ['5', /must be an object/],
      ['null', /must be an object/],
      ['{"jsonrpc":"2.0","id":1,"method":"tools/list"}', /must be the same/],
      ['{"jsonrpc":"2.0","method":"tools/call"}', /not a notification/],
      ['{"jsonrpc":"2.0","id":1,"result":{}}', /not a answer|not an answer/],
      ['{"jsonrpc":"1.0","id":1,"method":"tools/call"}', /not a JSON-RPC request/],
    ];
    for (const [body, message] of rows) {
      const response = await post(url, body);
      assert.equal(response.status, 400, body);
      const answer = await response.body();
      assert.match(answer, message, body);
      const { jsonrpc, error } = JSON.parse(answer);
      const code = message.source.includes('not JSON') ? -32700 : -32600;
      assert.deepEqual([jsonrpc, error.code], ['2.0', code], body);
      assert.equal(error.data.code, 'HUB_REQUEST_INVALID', body);
    }
  });

  test('answers 503 with stderr for a server that does not start', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary', autoStart: false },
    ]);
    const response = await post(`${hub.url}/mcp/broken/tools/list`, {
      jsonrpc: '2.0',
      id: 'x',
      method: 'tools/list',
    });
    assert.equal(response.status, 503);
    const { id, error } = JSON.parse(await response.body());
    assert.equal(id, 'x');
    assert.equal(error.data.code, 'HUB_SERVER_FAILED');
    assert.ok(error.data.stderr);
  });

  test('cancels the call at the server when the client disconnects', async () => {
    await using hub = await startHub(echo);
    const hangUp = new AbortController();
    const body = { name: 'slow', arguments: { ms: 15_000 } };
    const lost = Promise.allSettled(
      Array.from({ length: 10 }, () =>
        send(`${hub.url}/mcp/echo/tools/call`, {
          method: 'POST',
          body,
          signal: hangUp.signal,
        }),
      ),
    );
    await until(() => hub.server('echo').running?.upstream.inFlight() === 10);
    hangUp.abort();
    await lost;
    await until(() => hub.server('echo').running?.upstream.inFlight() === 0, String, 5_000);
    await until(() => hub.router.sessionCount === 0 && hub.router.inFlight === 0);
  });

  test('has Retry-After when a server is busy', async () => {
    await using hub = await startHub([{ name: 'echo', maxConcurrentCalls: 1, maxQueuedCalls: 0 }]);
    const leave = await admitted(hub.server('echo').admission, 'ada');
    const params = { name: 'echo', arguments: { text: 'a' } };
    const refused = await post(`${hub.url}/mcp/echo/tools/call`, params);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers['retry-after'], '1');
    assert.match(await refused.body(), /"HUB_SERVER_BUSY".*"retryAfterMs":1000/);
    leave.over(undefined, true);
    const done = await post(`${hub.url}/mcp/echo/tools/call`, params);
    assert.deepEqual([done.status, done.headers['retry-after']], [200, undefined]);
  });
});
