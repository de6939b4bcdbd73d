import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { admitted } from '#helpers/calls';
import { startHub, until, ownerHeaders } from '#helpers/hub';
import { call, openSession, posting, send } from '../transports/raw.ts';

const echo = [{ name: 'echo' }];
const json = { 'content-type': 'application/json' };
const post = (url: string, body?: string | object, headers: Record<string, string> = json) =>
  send(url, {
    method: 'POST',
    headers: { ...ownerHeaders, ...(body !== undefined && headers) },
    ...(body !== undefined && { body }),
  });

describe('every path', () => {
  test('refuses a foreign Host and a foreign Origin with 403 before it does anything', async () => {
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

  test('asks for the token where one is set', async () => {
    await using hub = await startHub([], { http: { token: 'secret' } });
    for (const path of ['/health', '/servers', '/mcp', '/no/such']) {
      const refused = await send(`${hub.url}${path}`);
      assert.equal(refused.status, 401, path);
      assert.equal(refused.headers['www-authenticate'], 'Bearer');
    }
    const headers = { authorization: 'Bearer secret' };
    assert.equal((await send(`${hub.url}/health`, { headers })).status, 200);
  });

  test('that does not exist is 404 and says so; no answer shows a stack trace', async () => {
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

  test('that is asked by a verb it does not know is 405 and names those it knows', async () => {
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

  test('is found from /, which says where things are', async () => {
    await using hub = await startHub([]);
    const response = await send(hub.url);
    assert.equal(response.status, 200);
    const { name, paths } = JSON.parse(await response.body());
    assert.equal(name, 'AgentHub');
    assert.deepEqual(Object.keys(paths), [
      '/mcp',
      '/mcp/{server}',
      '/sse',
      '/sse/{server}',
      '/health',
      '/servers',
      '/activity',
      '/dashboard',
      '/metrics',
    ]);
    const page = await send(hub.url, { headers: { accept: 'text/html,*/*;q=0.8' } });
    assert.deepEqual([page.status, page.headers.location], [302, '/dashboard']);
  });
});

describe('/health', () => {
  test('is 200 while the hub is usable and says how each server fares', async () => {
    await using hub = await startHub([
      ...echo,
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
      { name: 'idle', file: 'echo.mjs', autoStart: false },
    ]);
    const response = await send(`${hub.url}/health`);
    assert.equal(response.status, 200);
    const health = JSON.parse(await response.body());
    assert.equal(health.status, 'degraded');
    assert.equal(health.parts.engine.backend, 'process');
    assert.equal(typeof health.parts.engine.latency_ms, 'number');
    assert.equal(health.servers.echo.state, 'running');
    assert.equal(health.servers.broken.state, 'failed');
    assert.match(health.servers.broken.last_error, /exited with code 3/);
    assert.equal(health.servers.idle.state, 'stopped');
    assert.equal(health.servers.echo.backend, 'process');
    assert.equal(health.servers.echo.latency_ms, null, 'it was not measured');
    const one = await send(`${hub.url}/health/echo`);
    assert.equal(one.status, 200);
    const measured = await one.json();
    assert.deepEqual([measured['name'], measured['backend']], ['echo', 'process']);
    assert.equal(typeof measured['latency_ms'], 'number');
    const later = JSON.parse(await (await send(`${hub.url}/health`)).body());
    assert.equal(later.servers.echo.latency_ms, measured['latency_ms']);
  });

  test('of a server is 200 where a call reaches it or starts it, and 503 where not', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
      { name: 'idle', file: 'echo.mjs', autoStart: false },
      { name: 'ended', file: 'echo.mjs', autoStart: false },
      { name: 'off', file: 'echo.mjs', enabled: false, autoStart: false },
    ]);
    await post(`${hub.url}/servers/ended/stop`);
    const rows = [
      ['broken', 503, 'failed'],
      ['idle', 200, 'stopped'],
      ['ended', 503, 'stopped'],
      ['off', 503, 'stopped'],
    ] as const;
    for (const [name, status, state] of rows) {
      const response = await send(`${hub.url}/health/${name}`);
      assert.equal(response.status, status, name);
      const health = await response.json();
      assert.deepEqual([health['state'], health['backend']], [state, 'process'], name);
    }
    assert.equal((await post(`${hub.url}/mcp/idle/tools/list`, {})).status, 200);
  });

  test('is 503 where every server that should run has failed', async () => {
    await using hub = await startHub([
      { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
    ]);
    const response = await send(`${hub.url}/health`);
    assert.equal(response.status, 503);
    assert.equal((await response.json())['status'], 'down');
  });
});

describe('/servers', () => {
  test('shows servers, and starts, stops and restarts them', async () => {
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

  test('a start that fails answers with the stderr of the server', async () => {
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

  test('refuses a body, a body that is no JSON, and what the path does not know', async () => {
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

describe('POST /mcp/{server}/{method}', () => {
  test('takes a request, or bare params, and starts the server', async () => {
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

  test('refuses what is neither with 400', async () => {
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
      ['{"jsonrpc":"1.0","id":1,"method":"tools/call"}', /no JSON-RPC request/],
    ];
    for (const [body, message] of rows) {
      const response = await post(url, body);
      assert.equal(response.status, 400, body);
      assert.match(await response.body(), message, body);
    }
  });

  test('answers for a server that does not start with 503 and its stderr', async () => {
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

  test('tells the server when the client hangs up', async () => {
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

  test('refuses with the id of the request, where that can be read', async () => {
    await using hub = await startHub(echo);
    const message = { jsonrpc: '2.0', id: 'mine', method: 'tools/list' };
    for (const path of ['/mcp/nobody', '/mcp/nobody/tools/list', '/mcp/echo/tools/call']) {
      const response = await post(`${hub.url}${path}`, message);
      assert.equal((await response.json())['id'], 'mine', path);
    }
  });

  test('takes no other type than JSON, and names it', async () => {
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

  test('says in a header when a busy server is worth another try', async () => {
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

  test('refuses a body above the bound with 413', async () => {
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

describe('a page of an allowed origin', () => {
  const origin = 'https://Notes.example';
  const options = { http: { allowedOrigins: ['https://notes.example'], token: 'secret' } };
  const asking = { 'access-control-request-method': 'POST' };
  const preflight = (url: string, headers: Record<string, string>) =>
    send(url, { method: 'OPTIONS', headers });

  test('may ask before it sends, without the token that it will send then', async () => {
    await using hub = await startHub(echo, options);
    for (const path of ['/mcp', '/mcp/echo', '/mcp/echo/tools/list', '/health']) {
      const { status, headers } = await preflight(`${hub.url}${path}`, { origin, ...asking });
      assert.equal(status, 204, path);
      assert.equal(headers['access-control-allow-origin'], origin);
      assert.equal(headers['access-control-allow-methods'], 'GET, POST, DELETE');
      assert.equal(
        headers['access-control-allow-headers'],
        'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name',
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

  test('may send the headers that repeat arguments of a tool, those that it asks for', async () => {
    await using hub = await startHub(echo, options);
    const { headers } = await preflight(`${hub.url}/mcp`, {
      origin,
      ...asking,
      'access-control-request-headers': 'content-type, MCP-Param-Region,mcp-param-a b, cookie',
    });
    assert.equal(
      headers['access-control-allow-headers'],
      'authorization, content-type, mcp-session-id, mcp-protocol-version, last-event-id, mcp-method, mcp-name, mcp-param-region',
    );
  });

  test('reads every answer: JSON, events, refusals and errors', async () => {
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

  test('is all that these headers are for', async () => {
    await using hub = await startHub(echo);
    const { status, headers } = await send(`${hub.url}/health`, {
      headers: { origin: hub.url },
    });
    assert.equal(status, 200);
    assert.equal(headers['access-control-allow-origin'], undefined);
    assert.equal(headers['vary'], undefined);
  });
});

describe('listening', () => {
  const notHere = process.platform === 'darwin' && 'macOS gives loopback one address';
  test.skipIf(notHere)('on another address of this machine lets in who asks for that', async () => {
    await using hub = await startHub(echo, { http: { host: '127.0.0.2' } });
    assert.match(hub.url, /^http:\/\/127\.0\.0\.2:\d+$/);
    assert.equal((await send(`${hub.url}/health`)).status, 200);
    const session = await openSession(`${hub.url}/mcp`);
    assert.equal((await session.end()).status, 204);
  });

  test('on a port that is taken fails and says so', async () => {
    await using hub = await startHub([]);
    const port = Number(new URL(hub.url).port);
    await assert.rejects(startHub([], { http: { port } }), {
      code: 'HUB_PORT_TAKEN',
      message: /ROUTER_PORT: 127\.0\.0\.1:\d+ is in use/,
    });
  });

  test('with TLS and a token on another address works; a missing certificate is named', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'agenthub-tls-'));
    try {
      const keyFile = join(folder, 'key.pem');
      const certFile = join(folder, 'cert.pem');
      execFileSync(
        'openssl',
        [
          'req',
          '-x509',
          '-newkey',
          'rsa:2048',
          '-nodes',
          '-days',
          '1',
          '-subj',
          '/CN=localhost',
        ].concat(['-addext', 'subjectAltName=DNS:localhost', '-keyout', keyFile, '-out', certFile]),
        { stdio: 'ignore' },
      );
      const tls = { certFile, keyFile };
      await using hub = await startHub([], { http: { host: '0.0.0.0', tls, token: 'secret' } });
      assert.match(hub.url, /^https:\/\/0\.0\.0\.0:\d+$/);
      const status = (authorization: string) =>
        new Promise<number | undefined>((resolve, reject) => {
          request(
            {
              port: new URL(hub.url).port,
              host: 'localhost',
              path: '/health',
              ca: readFileSync(certFile),
              headers: { authorization },
              agent: false,
            },
            response => resolve(response.resume().statusCode),
          )
            .on('error', reject)
            .end();
        });
      assert.equal(await status('Bearer wrong'), 401);
      assert.equal(await status('Bearer secret'), 200);
      const missing = { certFile: join(folder, 'none.pem'), keyFile };
      await assert.rejects(startHub([], { http: { tls: missing } }), {
        code: 'HUB_CONFIG_INVALID',
        message: /ROUTER_TLS_CERT: ".*none\.pem" cannot be read/,
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
