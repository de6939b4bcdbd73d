import assert from 'node:assert/strict';
import { fastify } from 'fastify';
import { describe, test } from 'vitest';
import { problemOf, statusOf } from '../../../hub/http/errors.ts';
import { hubRoutes } from '../../../hub/http/routes/hub.ts';

type CallToken = { readonly token: string; readonly why: string };

/** Serves the routes of the hub without a guard. */
function open(access?: { readonly callToken?: () => CallToken | undefined }) {
  const reloads: (readonly string[] | undefined)[] = [];
  const app = fastify();
  app.setErrorHandler((error, _request, reply) =>
    reply.code(statusOf(error)).send(problemOf(error)),
  );
  hubRoutes(app, {
    servers: { all: [], instances: { list: () => [] } },
    transports: { streamable: { sessionCount: 2 }, connections: { size: 3 } },
    hub: {
      version: '1.2.3',
      residentBytes: () => 4096,
      config: {
        async reload(allow) {
          reloads.push(allow);
          return { status: 'unchanged' };
        },
        secrets: async () => [{ name: 'KEY', state: 'readable', source: 'file', used_by: [] }],
      },
    },
    ...(access && { access }),
    login: { createLink: () => ({ path: '/dashboard/login?code=c', lastsMs: 600_000 }) },
    telemetry: { metrics: { families: () => [] } },
    usages: { read: async () => new Map() },
  });
  return { app, reloads };
}

test('GET /secrets shows names and states', async () => {
  const response = await open().app.inject('/secrets');
  assert.equal(response.headers['cache-control'], 'no-store');
  assert.deepEqual(response.json(), {
    secrets: [{ name: 'KEY', state: 'readable', source: 'file', used_by: [] }],
  });
});

describe('GET /', () => {
  test('lists the endpoints', async () => {
    const response = await open().app.inject('/');
    assert.equal(response.statusCode, 200);
    const { name, version, paths } = response.json();
    assert.deepEqual([name, version], ['AgentHub', '1.2.3']);
    assert.deepEqual(Object.keys(paths), [
      '/mcp',
      '/mcp/{server}',
      '/mcp/@{profile}',
      '/sse',
      '/sse/{server}',
      '/health',
      '/servers',
      '/activity',
      '/dashboard',
      '/metrics',
    ]);
  });

  test('redirects browsers to the dashboard', async () => {
    const headers = { accept: 'text/html,*/*;q=0.8' };
    const page = await open().app.inject({ url: '/', headers });
    assert.deepEqual([page.statusCode, page.headers.location], [302, '/dashboard']);
  });
});

describe('POST /config/reload', () => {
  const reload = (body?: string) => ({
    method: 'POST' as const,
    url: '/config/reload',
    ...(body !== undefined && { body, headers: { 'content-type': 'application/json' } }),
  });

  test.each<readonly [body: string | undefined, allow: readonly string[]]>([
    [undefined, []],
    ['{}', []],
    ['{"allow":[]}', []],
    ['{"allow":["echo","notes"]}', ['echo', 'notes']],
  ])('with the body %s allows %j', async (body, allow) => {
    const { app, reloads } = open();
    const response = await app.inject(reload(body));
    assert.deepEqual([response.statusCode, response.json()], [200, { status: 'unchanged' }]);
    assert.deepEqual(reloads, [allow]);
  });

  test.each([
    ['{"allow":"echo"}', /allow: write a list of the names of servers/],
    ['{"allow":["echo",5]}', /allow: write a list/],
    ['{"allow":null}', /allow: write a list/],
    ['{"allow":["echo"],"force":true}', /but for \\"allow\\", takes no body; it had force/],
  ])('refuses the body %s, and reloads nothing', async (body, message) => {
    const { app, reloads } = open();
    const response = await app.inject(reload(body));
    assert.equal(response.statusCode, 400);
    assert.match(response.body, message);
    assert.deepEqual(reloads, []);
  });
});

describe('GET /call-token', () => {
  const none = { token: null, why: null };
  const made = { token: 'made', why: 'a server has a network' };

  test.each<readonly [what: string, access: Parameters<typeof open>[0], answer: object]>([
    ['no token is ever made', undefined, none],
    ['there is no token but ROUTER_TOKEN', {}, none],
    ['calls need none', { callToken: () => undefined }, none],
    ['calls need one', { callToken: () => made }, made],
  ])('if %s', async (_what, access, answer) => {
    const response = await open(access).app.inject('/call-token');
    assert.deepEqual(response.json(), answer);
    assert.equal(response.headers['cache-control'], 'no-store');
  });
});

test('POST /login-link creates a link that no cache keeps', async () => {
  const response = await open().app.inject({ method: 'POST', url: '/login-link' });
  assert.deepEqual(
    [response.statusCode, response.headers['cache-control'], response.json()],
    [201, 'no-store', { path: '/dashboard/login?code=c', expires_in_seconds: 600 }],
  );
});

test('GET /metrics counts sessions and connections together', async () => {
  const response = await open().app.inject('/metrics');
  assert.equal(response.headers['content-type'], 'text/plain; version=0.0.4; charset=utf-8');
  assert.match(response.body, /^agenthub_sessions 5$/m);
});
