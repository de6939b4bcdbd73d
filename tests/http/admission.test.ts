import assert from 'node:assert/strict';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, test } from 'vitest';
import { createRecordingLog, startHub } from '#helpers/hub';
import { createCors } from '../../hub/http/admission.ts';
import { createRefusalLog } from '../../hub/http/refusal-log.ts';
import { call, posting, send } from '../transports/raw.ts';

const echo = [{ name: 'echo' }];
const json = { 'content-type': 'application/json' };

describe('every path', () => {
  test('refuses a foreign Host and a foreign Origin with 403 before any work', async () => {
    await using hub = await startHub(echo);
    const paths = [
      '/',
      '/mcp',
      '/mcp/echo',
      '/mcp/echo/tools/call',
      '/mcp/nobody',
      '/health',
      '/health/echo',
      '/servers',
      '/servers/echo',
      '/servers/echo/stop',
      '/no/such/path',
      '/mcp/%',
    ];
    for (const path of paths)
      for (const method of ['GET', 'POST', 'DELETE', 'OPTIONS'])
        for (const headers of [
          { host: 'evil.example' },
          { host: 'localhost', origin: 'https://evil.example' },
        ]) {
          const response = await send(`${hub.url}${path}`, { method, headers });
          assert.equal(response.status, 403, `${method} ${path} ${JSON.stringify(headers)}`);
        }
    assert.equal(hub.server('echo').status.state, 'running');
    const mcp = await send(`${hub.url}/mcp`, {
      method: 'POST',
      headers: { ...posting, origin: 'https://evil.example' },
      body: {},
    });
    const { jsonrpc, id, error } = JSON.parse(await mcp.body());
    assert.deepEqual([jsonrpc, id, error.code], ['2.0', null, -32000]);
  });

  test('requires the token if one is set', async () => {
    await using hub = await startHub([], { http: { token: 'secret' } });
    for (const path of ['/health', '/servers', '/mcp', '/no/such']) {
      const refused = await send(`${hub.url}${path}`);
      assert.equal(refused.status, 401, path);
      assert.equal(refused.headers['www-authenticate'], 'Bearer');
    }
    const headers = { authorization: 'Bearer secret' };
    assert.equal((await send(`${hub.url}/health`, { headers })).status, 200);
  });
});

test('refusals at /mcp hold the code of the hub, as all its errors do', async () => {
  await using hub = await startHub(echo);
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };
  const refused = [
    ['/mcp', { headers: { host: 'evil.example' } }, 403],
    ['/mcp', { method: 'PUT' }, 405],
    ['/mcp/echo/tools/call', {}, 405],
    ['/mcp', { method: 'POST', headers: posting, body: ping }, 400],
    ['/mcp', { method: 'POST', headers: { ...posting, accept: 'text/html' }, body: ping }, 406],
    [
      '/mcp',
      { method: 'POST', headers: { ...posting, 'mcp-protocol-version': '1' }, body: ping },
      400,
    ],
  ] as const;
  for (const [path, request, status] of refused) {
    const answer = await send(`${hub.url}${path}`, request);
    const body = await answer.body();
    assert.equal(answer.status, status, body);
    assert.deepEqual(JSON.parse(body).error.data, { code: 'HUB_REQUEST_INVALID' }, body);
  }
});

const cors = createCors(['https://App.example']);

function requestOf(method: string, headers: Readonly<Record<string, string>>): IncomingMessage {
  return Object.assign(new IncomingMessage(new Socket()), { method, headers });
}

function marked(origin: string | undefined, by = cors) {
  const request = requestOf('POST', origin === undefined ? {} : { origin });
  const response = new ServerResponse(request);
  by.mark(request, response);
  return { ...response.getHeaders() };
}

test('an allowed origin gets CORS headers, in any case', () => {
  assert.deepEqual(marked('https://app.EXAMPLE'), {
    vary: 'Origin',
    'access-control-allow-origin': 'https://app.EXAMPLE',
    'access-control-expose-headers': 'Mcp-Session-Id, WWW-Authenticate',
  });
});

test('another origin, and a request without one, get only Vary', () => {
  for (const origin of ['https://evil.example', 'null', undefined])
    assert.deepEqual(marked(origin), { vary: 'Origin' });
});

test('no CORS header is sent if no origin is allowed', () => {
  assert.deepEqual(marked('https://app.example', createCors([])), {});
});

test('a preflight is an OPTIONS request of an allowed origin', () => {
  const asking = { origin: 'https://app.example', 'access-control-request-method': 'POST' };
  assert.ok(cors.isPreflight(requestOf('OPTIONS', asking)));
  assert.ok(!cors.isPreflight(requestOf('POST', asking)));
  assert.ok(!cors.isPreflight(requestOf('OPTIONS', { origin: 'https://app.example' })));
  assert.ok(!cors.isPreflight(requestOf('OPTIONS', { ...asking, origin: 'https://evil.example' })));
});

test('a preflight allows the headers of tool arguments that it requests, and no others', () => {
  const allowed = (asked: string) =>
    cors.preflightHeaders(requestOf('OPTIONS', { 'access-control-request-headers': asked }))[
      'access-control-allow-headers'
    ] ?? '';
  const usual = allowed('');
  assert.match(usual, /mcp-session-id/);
  assert.equal(allowed('X-Other, Mcp-Param-Region'), `${usual}, mcp-param-region`);
  const many = Array.from({ length: 100 }, (_, index) => `mcp-param-${index}`).join(',');
  assert.equal(allowed(many).split(', ').length, usual.split(', ').length + 64);
});

describe('a page of an allowed origin', () => {
  const origin = 'https://Notes.example';
  const options = { http: { allowedOrigins: ['https://notes.example'], token: 'secret' } };
  const asking = { 'access-control-request-method': 'POST' };
  const preflight = (url: string, headers: Record<string, string>) =>
    send(url, { method: 'OPTIONS', headers });

  test('may send a preflight without the token', async () => {
    await using hub = await startHub(echo, options);
    for (const path of ['/mcp', '/mcp/echo', '/mcp/echo/tools/list', '/health']) {
      const { status, headers } = await preflight(`${hub.url}${path}`, { origin, ...asking });
      assert.equal(status, 204, path);
      assert.equal(headers['access-control-allow-origin'], origin);
      assert.equal(headers['access-control-allow-methods'], 'GET, POST, DELETE');
      assert.equal(
        headers['access-control-allow-headers'],
        'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, x-client-name',
      );
      assert.equal(headers['access-control-max-age'], '600');
      assert.equal(headers['vary'], 'Origin');
    }
    const url = `${hub.url}/mcp`;
    assert.equal((await preflight(url, { origin })).status, 401, 'that is no preflight');
    const local = { origin: 'http://localhost:5173', ...asking };
    const other = await preflight(url, local);
    assert.equal(other.status, 403, 'a loopback origin is not one that was configured');
    assert.equal(other.headers['access-control-allow-origin'], undefined);
    const foreign = await preflight(url, { origin: 'https://evil.example', ...asking });
    assert.equal(foreign.status, 403);
    const rebound = await preflight(url, { host: 'evil.example', origin, ...asking });
    assert.equal(rebound.status, 403);
  });

  test('may send the headers of tool arguments that its preflight requested', async () => {
    await using hub = await startHub(echo, options);
    const { headers } = await preflight(`${hub.url}/mcp`, {
      origin,
      ...asking,
      'access-control-request-headers': 'content-type, MCP-Param-Region,mcp-param-a b, cookie',
    });
    assert.equal(
      headers['access-control-allow-headers'],
      'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, x-client-name, mcp-param-region',
    );
  });

  test('can read every response: JSON, events, refusals and errors', async () => {
    await using hub = await startHub(echo, options);
    const own = { authorization: 'Bearer secret', origin };
    const isReadable = (response: Awaited<ReturnType<typeof send>>, what: string) => {
      assert.equal(response.headers['access-control-allow-origin'], origin, what);
      assert.equal(
        response.headers['access-control-expose-headers'],
        'Mcp-Session-Id, WWW-Authenticate',
      );
      assert.equal(response.headers['vary'], 'Origin', what);
    };
    const initialize = { protocolVersion: '2025-11-25', capabilities: {} };
    const opened = await send(`${hub.url}/mcp`, {
      method: 'POST',
      headers: { ...posting, ...own },
      body: { jsonrpc: '2.0', id: 0, method: 'initialize', params: initialize },
    });
    assert.equal(opened.status, 200);
    isReadable(opened, 'initialize');
    const session = { ...own, 'mcp-session-id': String(opened.headers['mcp-session-id']) };
    const streamed = await send(`${hub.url}/mcp`, {
      method: 'POST',
      headers: { ...posting, ...session, accept: 'text/event-stream' },
      body: call(1, 'echo_echo', { text: 'hello' }),
    });
    assert.match(String(streamed.headers['content-type']), /event-stream/);
    isReadable(streamed, 'a stream');
    const listening = await send(`${hub.url}/mcp`, {
      headers: { ...session, accept: 'text/event-stream' },
    });
    isReadable(listening, 'the GET stream');
    listening.cut();
    const refused = await send(`${hub.url}/mcp`, { headers: { origin } });
    assert.equal(refused.status, 401);
    isReadable(refused, 'a refusal');
    isReadable(await send(`${hub.url}/health`, { headers: own }), 'health');
    isReadable(await send(`${hub.url}/no/such`, { headers: own }), 'no path');
    isReadable(await send(`${hub.url}/mcp/%`, { headers: own }), 'a path that is none');
    isReadable(
      await send(`${hub.url}/mcp/echo/tools/list`, {
        method: 'POST',
        headers: { ...own, ...json },
      }),
      'a single call',
    );
    const plain = await send(`${hub.url}/mcp/echo/tools/list`, { method: 'POST', headers: own });
    assert.equal(plain.status, 415);
    isReadable(plain, 'a refused type');
    const local = { ...own, origin: 'http://localhost:5173' };
    const other = await send(`${hub.url}/health`, { headers: local });
    assert.equal(other.status, 403);
    assert.equal(other.headers['access-control-allow-origin'], undefined);
    assert.equal(other.headers['vary'], 'Origin');
  });

  test('alone gets these headers', async () => {
    await using hub = await startHub(echo);
    const { status, headers } = await send(`${hub.url}/health`, {
      headers: { origin: hub.url },
    });
    assert.equal(status, 200);
    assert.equal(headers['access-control-allow-origin'], undefined);
    assert.equal(headers['vary'], undefined);
  });
});

const refusal = { status: 401, message: 'no token' } as const;
const refused = { address: '127.0.0.1', method: 'GET', url: '/mcp', refusal };

function start() {
  let now = 1_000;
  const { log, logged } = createRecordingLog();
  const note = createRefusalLog({ log, clock: { monotonic: () => now }, recordRefusal: undefined });
  return { note, logged, pass: (ms: number) => (now += ms) };
}

describe('refusals', () => {
  test('are logged once per address and second, and counted', () => {
    const { note, logged, pass } = start();
    for (let at = 0; at < 500; at++) note(refused);
    note({ ...refused, address: '127.0.0.2' });
    assert.deepEqual(
      logged.map(({ fields }) => fields),
      [
        { address: '127.0.0.1', method: 'GET', url: '/mcp', status: 401 },
        { address: '127.0.0.2', method: 'GET', url: '/mcp', status: 401, unlogged_before: 499 },
      ],
    );
    pass(999);
    note(refused);
    assert.equal(logged.length, 2);
    pass(1);
    note(refused);
    assert.equal(logged.length, 3);
  });

  test('of many addresses are bounded', () => {
    const { note, logged } = start();
    for (let at = 0; at < 5_000; at++) note({ ...refused, address: `::${at}` });
    assert.equal(logged.length, 100);
  });

  test('are logged with their URL, method and message cut', () => {
    const { note, logged } = start();
    const long = 'x'.repeat(15_000);
    note({
      ...refused,
      method: long,
      url: `/${long}`,
      refusal: { status: 403, message: long },
    });
    const [line] = logged;
    assert.ok(line && JSON.stringify(line).length < 1_500);
  });

  test('by the hundred cause few lines in the log of a hub', async () => {
    await using hub = await startHub([], { http: { token: 'secret' } });
    const began = performance.now();
    const url = `${hub.url}/${'x'.repeat(10_000)}`;
    await Promise.all(Array.from({ length: 200 }, () => send(url)));
    const seconds = Math.ceil((performance.now() - began) / 1000) + 1;
    const lines = hub.logged.filter(({ level }) => level === 'warn');
    assert.ok(lines.length >= 1 && lines.length <= seconds, `${lines.length} lines`);
    assert.ok(JSON.stringify(lines).length < seconds * 1_000);
  });
});
