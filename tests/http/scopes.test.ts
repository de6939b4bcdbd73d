import assert from 'node:assert/strict';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { createAuthorization } from '#access';
import { type AuditOptions, createAudit } from '#audit';
import { isObject, silent, systemClock } from '#core';
import { type TestHub, startHub } from '#helpers/hub';
import { openTestApprovals } from '../approvals/test-approvals.ts';
import { openScratchClients } from '../access/scratch.ts';
import { openHarness } from '../agents/harness.ts';
import { createTestPipeline } from '../dashboard/task-pipeline.ts';
import { createInstallHub } from '../installs/hub.ts';
import { createUpgradesStub } from '../installs/upgrades/stub.ts';
import { send } from '../transports/raw.ts';

/**
 * All routes of the hub by scope. A new route fails here until someone adds it to a scope. Routes that change the hub
 * or its servers, or that show what servers wrote or received, are for the owner.
 */
const expected = {
  call: [
    'DELETE /mcp',
    'DELETE /mcp/:server',
    'GET /',
    'GET /activity',
    'GET /activity/events',
    'GET /agents',
    'GET /dashboard',
    'GET /dashboard/*',
    'GET /dashboard/activity',
    'GET /dashboard/activity-partial',
    'GET /dashboard/activity/:id',
    'GET /dashboard/agents',
    'GET /dashboard/agents-partial',
    'GET /dashboard/assets/:file',
    'GET /dashboard/caches',
    'GET /dashboard/caches-partial',
    'GET /dashboard/connect',
    'GET /dashboard/connect-partial',
    'GET /dashboard/events',
    'GET /dashboard/health-partial',
    'GET /dashboard/jobs',
    'GET /dashboard/jobs-partial',
    'GET /dashboard/login',
    'GET /dashboard/oauth/callback',
    'GET /dashboard/servers/:name',
    'GET /dashboard/servers/:name/offers-partial',
    'GET /dashboard/servers/:name/state-partial',
    'GET /dashboard/sessions',
    'GET /dashboard/sessions-partial',
    'GET /dashboard/stats-partial',
    'GET /dashboard/tasks',
    'GET /dashboard/tasks-partial',
    'GET /health',
    'GET /health/:name',
    'GET /jobs',
    'GET /jobs/:id/events',
    'GET /mcp',
    'GET /mcp/:server',
    'GET /metrics',
    'GET /ollama/cache/stats',
    'GET /ollama/models',
    'GET /servers',
    'GET /servers/:name',
    'GET /servers/:name/tools',
    'GET /sse',
    'GET /sse/:server',
    'GET /tasks',
    'GET /tasks/:id',
    'GET /tasks/:id/diff',
    'GET /tasks/:id/events',
    'GET /tasks/:id/reports/:name',
    'GET /tools',
    'POST /dashboard/login',
    'POST /dashboard/logout',
    'POST /mcp',
    'POST /mcp/:server',
    'POST /mcp/:server/*',
    'POST /messages',
    'POST /ollama/enhance',
    'POST /pipelines/documentation',
    'POST /tasks',
    'POST /tasks/:id/cancel',
    'POST /tasks/:id/judge',
    'POST /tasks/:id/run',
    'POST /tasks/setup',
  ],
  administer: [
    'DELETE /agents/:id',
    'DELETE /agents/:id/messages/:message',
    'DELETE /approvals/standing/:id',
    'DELETE /clients/:name/token',
    'DELETE /jobs/:id',
    'DELETE /ollama/cache',
    'DELETE /servers/:name',
    'GET /activity/:id',
    'GET /agents/:id',
    'GET /agents/:id/events',
    'GET /agents/:id/files',
    'GET /agents/:id/files/*',
    'GET /agents/:id/messages',
    'GET /approvals',
    'GET /audit',
    'GET /audit/events',
    'GET /audit/verify',
    'GET /call-token',
    'GET /catalog',
    'GET /catalog/server',
    'GET /clients',
    'GET /dashboard/access',
    'GET /dashboard/access-partial',
    'GET /dashboard/access/:name/revoke',
    'GET /dashboard/agents/:id',
    'GET /dashboard/agents/:id/conversation-partial',
    'GET /dashboard/agents/:id/files-partial',
    'GET /dashboard/agents/:id/files/*',
    'GET /dashboard/agents/:id/remove',
    'GET /dashboard/agents/:id/state-partial',
    'GET /dashboard/approvals',
    'GET /dashboard/approvals-badge',
    'GET /dashboard/approvals-partial',
    'GET /dashboard/audit',
    'GET /dashboard/authorize',
    'GET /dashboard/catalog',
    'GET /dashboard/catalog/server',
    'GET /dashboard/install',
    'GET /dashboard/install/:id',
    'GET /dashboard/install/:id/partial',
    'GET /dashboard/pins',
    'GET /dashboard/pins-badge',
    'GET /dashboard/pins-partial',
    'GET /dashboard/servers/:name/log-partial',
    'GET /dashboard/servers/:name/pins-partial',
    'GET /dashboard/servers/:name/remove',
    'GET /dashboard/servers/:name/run-partial',
    'GET /dashboard/servers/:name/tool',
    'GET /dashboard/tasks/:id',
    'GET /dashboard/tasks/:id/state-partial',
    'GET /dashboard/tasks/:id/work-partial',
    'GET /dashboard/versions',
    'GET /jobs/:id',
    'GET /logs',
    'GET /ollama/cache/explain',
    'GET /policy',
    'GET /secrets',
    'GET /servers/:name/logs',
    'GET /upgrades',
    'POST /agents/:id/configure',
    'POST /agents/:id/messages',
    'POST /agents/:id/stop',
    'POST /approvals/:id/approve',
    'POST /approvals/:id/deny',
    'POST /catalog/install',
    'POST /clients/:name/token',
    'POST /config/reload',
    'POST /dashboard/actions/agent-cancel/:id/:message',
    'POST /dashboard/actions/agent-remove/:id',
    'POST /dashboard/actions/agent-stop/:id',
    'POST /dashboard/actions/approval-remove/:id',
    'POST /dashboard/actions/approve-always/:id',
    'POST /dashboard/actions/approve/:id',
    'POST /dashboard/actions/cancel-install/:id',
    'POST /dashboard/actions/clear-cache',
    'POST /dashboard/actions/deny/:id',
    'POST /dashboard/actions/oauth-login/:name',
    'POST /dashboard/actions/oauth-logout/:name',
    'POST /dashboard/actions/pins-accept/:name',
    'POST /dashboard/actions/pins-reject/:name',
    'POST /dashboard/actions/remove/:name',
    'POST /dashboard/actions/restart/:name',
    'POST /dashboard/actions/rollback/:name',
    'POST /dashboard/actions/run-answer/:id',
    'POST /dashboard/actions/run-cancel/:id',
    'POST /dashboard/actions/start/:name',
    'POST /dashboard/actions/stop/:name',
    'POST /dashboard/actions/task-cancel/:id',
    'POST /dashboard/actions/task-finalize/:id',
    'POST /dashboard/actions/task-run/:id',
    'POST /dashboard/actions/task-verdict/:id',
    'POST /dashboard/actions/token-revoke/:name',
    'POST /dashboard/actions/tool-switch/:name',
    'POST /dashboard/actions/upgrade/:name',
    'POST /dashboard/agents',
    'POST /dashboard/agents/:id/messages',
    'POST /dashboard/authorize',
    'POST /dashboard/caches',
    'POST /dashboard/catalog/server',
    'POST /dashboard/install',
    'POST /dashboard/servers/:name/tool',
    'POST /dashboard/servers/:name/upgrade',
    'POST /login-link',
    'POST /ollama/models/:name/pull',
    'POST /policy/test',
    'POST /prune',
    'POST /servers/:name/restart',
    'POST /servers/:name/rollback',
    'POST /servers/:name/start',
    'POST /servers/:name/stop',
    'POST /servers/:name/tools',
    'POST /servers/:name/upgrade',
    'POST /servers/install',
    'POST /servers/try',
    'POST /tasks/:id/finalize',
    'POST /tasks/:id/rollback',
  ],
  // These routes exist only while calls need a token (tests/http/routes/authorization.test.ts).
  public: [
    'GET /.well-known/oauth-authorization-server',
    'GET /.well-known/oauth-protected-resource',
    'GET /.well-known/oauth-protected-resource/*',
    'POST /oauth/register',
    'POST /oauth/token',
  ],
};

const token = 'a-token-of-16-or-more';
const unasked = async () => assert.fail('the registry is not asked');

const isInitialization = (message: unknown): message is { readonly fastify: FastifyInstance } =>
  isObject(message) && 'fastify' in message;

const auditOptions: AuditOptions = {
  enabled: true,
  maxBytes: 2 ** 20,
  maxAgeMs: 86_400_000,
  keep: 1,
  onFailure: 'continue',
};

/** Starts a hub with all its routes loaded, and collects the routes by scope. */
async function openHub(http: Parameters<typeof startHub>[1]) {
  const config = createInstallHub();
  const found: Record<string, string[]> = { call: [], administer: [], public: [] };
  const collect = (message: unknown): void => {
    if (!isInitialization(message)) return;
    message.fastify.addHook('onRoute', ({ method, url, config: { scope = 'call' } = {} }) => {
      for (const one of [method].flat()) found[scope]?.push(`${one} ${url}`);
    });
  };
  const scratch = await openScratchClients();
  const harness = await openHarness(({ message }) => message);
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-scopes-'));
  const audit = createAudit(join(folder, 'audit'), () => auditOptions, {
    clock: systemClock,
    log: silent,
    hubVersion: '1.2.3',
    syncFolder: async () => {},
    redaction: { text: text => text, json: value => value },
  });
  const clients = await scratch.open();
  const authorization = createAuthorization(
    { secret: Buffer.alloc(32) },
    { clients, clock: systemClock, log: silent, audit() {} },
  );
  const hub = await startHub([{ name: 'echo' }], {
    guard: { clients, authorization },
    installs: config.installs,
    upgrades: createUpgradesStub().upgrades,
    catalog: { isOn: () => true, search: unasked, get: unasked, requestFor: unasked },
    ollama: () => Promise.reject(new Error('this hub improves no prompts')),
    approvals: (await openTestApprovals()).approvals,
    tasks: createTestPipeline().pipeline,
    documentation: {
      service: { start: async () => {}, stop: async () => {} },
      begin: () => Promise.reject(new Error('this hub documents nothing')),
    },
    agents: harness.agents,
    changeTools: async () => {},
    audit,
    ...http,
  });
  subscribe('fastify.initialization', collect);
  await send(`${hub.url}/health`, { headers: hub.ownerHeaders });
  unsubscribe('fastify.initialization', collect);
  for (const routes of Object.values(found)) routes.sort();
  return {
    hub,
    found,
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await config[Symbol.asyncDispose]();
      await scratch[Symbol.asyncDispose]();
      await harness[Symbol.asyncDispose]();
      await audit.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Routes that show the login form with 200 in place of a refusal (tests/http/routes/dashboard.test.ts). */
const asksToLogIn = new Set(['GET /dashboard/authorize']);

/** Returns the status of a request to a route, for a server or call that does not exist. */
async function statusOf(
  hub: TestHub,
  route: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const [method = '', path = ''] = route.split(' ');
  const answer = await send(`${hub.url}${path.replaceAll(/:\w+/g, 'nobody')}`, { method, headers });
  answer.cut();
  return answer.status;
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` });

describe.each([
  ['without a token', undefined],
  ['with a token', token],
])('a hub %s', (_, own) => {
  let opened: Awaited<ReturnType<typeof openHub>>;
  beforeAll(async () => {
    opened = await openHub({ http: { token: own } });
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  test('has the known routes, and each is for calls or for the owner', () => {
    assert.deepEqual(opened.found, expected);
  });

  test.for(expected.administer)('%s is refused to all but the owner', async route => {
    const { hub } = opened;
    const refused = asksToLogIn.has(route) ? 200 : 401;
    assert.equal(await statusOf(hub, route), refused);
    for (const key of [token, 'made-up', ''])
      // After too many attempts, the hub answers 429.
      assert.ok([refused, 429].includes(await statusOf(hub, route, bearer(key))), key);
    const status = await statusOf(hub, route, hub.ownerHeaders);
    assert.ok(![401, 403, 429].includes(status), String(status));
  });

  test("answers calls without the owner's key", async () => {
    const { hub } = opened;
    for (const path of ['/health', '/servers', '/activity', '/metrics', '/dashboard'])
      assert.equal(await statusOf(hub, `GET ${path}`, own ? bearer(own) : {}), 200, path);
  });
});

/** Routes of pages, MCP and OAuth, whose clients may add query parameters, and those that probes and Prometheus read. */
const lenient = /^\w+ \/($|dashboard|mcp|messages|sse|health|metrics|oauth|\.well-known)/;

describe('a query parameter that a route does not take', () => {
  let opened: Awaited<ReturnType<typeof openHub>>;
  beforeAll(async () => {
    opened = await openHub({});
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  const routes = Object.values(expected).flat();

  test.for(routes.filter(route => !lenient.test(route)))('is refused by %s', async route => {
    const { url, ownerHeaders: headers } = opened.hub;
    const [method = '', path = ''] = route.replaceAll(/:\w+/g, 'nobody').split(' ');
    const answer = await send(`${url}${path}?x=1`, { method, headers });
    const body = await answer.body();
    assert.equal(answer.status, 400, body);
    assert.match(body, /"HUB_REQUEST_INVALID","message":"x: is not a parameter of/);
  });

  test.for(['/', '/health', '/health/echo', '/metrics'])('is ignored by GET %s', async path => {
    assert.equal((await send(`${opened.hub.url}${path}?x=1`)).status, 200);
  });
});

describe('a hub whose administration is off', () => {
  let opened: Awaited<ReturnType<typeof openHub>>;
  beforeAll(async () => {
    opened = await openHub({ http: { administration: 'off' } });
  });
  afterAll(() => opened?.[Symbol.asyncDispose]());

  test.for(expected.administer)('refuses %s even to its owner', async route => {
    assert.equal(await statusOf(opened.hub, route, opened.hub.ownerHeaders), 403);
  });

  test('still answers calls', async () => {
    assert.equal(await statusOf(opened.hub, 'GET /servers'), 200);
  });
});
