import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startOAuthWorld } from '#fixtures/oauth/world';
import { describeWithBrowser, sharedBrowser } from '#helpers/browser';
import { connect } from '#helpers/client';
import { type HubProcess, type HubProcessOptions, startHub } from '#helpers/hub-process';
import { seriousFindings } from '../dashboard/browser/axe.ts';
import { startOtlp } from '../doubles/otlp.ts';
import { shownIn } from './places-of-secrets.ts';

const timeout = 180_000;
const cli = join(import.meta.dirname, '../../bin/agenthub.mjs');
const answer = z.looseObject({
  result: z.unknown().optional(),
  error: z
    .looseObject({ message: z.string(), data: z.looseObject({ code: z.string() }) })
    .optional(),
});
const described = z.looseObject({ state: z.string(), why: z.string().optional() });

const hubFor = (url: string, options: Partial<HubProcessOptions> = {}) =>
  startHub({ config: { servers: { docs: { url } } }, ...options });

async function call({ url }: Pick<HubProcess, 'url'>, server: string) {
  const response = await fetch(`${url}/mcp/${server}/tools/call`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'whoami', arguments: {} }),
  });
  return answer.parse(await response.json());
}

async function succeeds(hub: HubProcess, server = 'docs'): Promise<void> {
  const { error } = await call(hub, server);
  assert.equal(error, undefined, `${JSON.stringify(error)}\n${hub.log()}`);
}

async function fails(hub: HubProcess, message: RegExp, server = 'docs'): Promise<void> {
  const { error } = await call(hub, server);
  assert.equal(error?.data.code, 'HUB_LOGIN_REQUIRED', `${JSON.stringify(error)}\n${hub.log()}`);
  assert.match(error?.message ?? '', message);
}

async function show({ url, ownerHeaders: headers }: HubProcess, path: string, method = 'GET') {
  const response = await fetch(`${url}${path}`, { method, headers });
  return await response.text();
}

const stateOf = async (hub: HubProcess, server = 'docs') =>
  described.parse(JSON.parse(await show(hub, `/servers/${server}`)));

/** Opens a page with its own profile. Disposing closes both. */
const openPage = async () => await (await sharedBrowser()).newPage();

/** Logs in at the authorization server, and consents to the requested access. */
async function grant(page: Page, server = 'docs'): Promise<void> {
  const done = page.getByRole('heading', { name: `Logged in to ${server}` });
  const name = page.locator('input[name=login]');
  const consent = page.locator('button[type=submit]');
  while (true) {
    await done.or(consent).first().waitFor();
    if (await done.isVisible()) return;
    if (await name.isVisible()) {
      await name.fill('somebody');
      await page.locator('input[name=password]').fill('any');
    }
    const from = page.url();
    await consent.click();
    await page.waitForURL(url => url.href !== from);
  }
}

const begun = z.looseObject({ url: z.string() });

/** Logs in at the URL that a command or the dashboard would show. */
async function logIn(hub: HubProcess, server: string): Promise<void> {
  await using page = await openPage();
  const { url } = begun.parse(JSON.parse(await show(hub, `/servers/${server}/login`, 'POST')));
  await page.goto(url);
  await grant(page, server);
}

/** Logs in with `agenthub login --print`. */
async function logInByCommand(hub: HubProcess, page: Page): Promise<void> {
  const child = spawn(process.execPath, [cli, 'login', 'docs', '--print', '--url', hub.url], {
    env: { ...process.env, DATA_DIR: hub.dataDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines = createInterface({ input: child.stdout });
  const exited = once(child, 'exit');
  const [url] = await once(lines, 'line');
  await page.goto(String(url));
  await grant(page);
  const [code] = await exited;
  assert.equal(code, 0);
}

async function auditText({ dataDir }: HubProcess): Promise<string> {
  const folder = join(dataDir, 'audit');
  const texts = (await readdir(folder)).map(name => readFile(join(folder, name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

describeWithBrowser('a login to a remote server', () => {
  /** A hub for tests that neither restart it nor need their own clock or log. Each test has its own entry. */
  let shared: HubProcess;
  let world: Awaited<ReturnType<typeof startOAuthWorld>>;
  beforeAll(async () => {
    world = await startOAuthWorld();
    const entry = { url: world.resource };
    const servers = {
      docs: entry,
      each: { ...entry, instance: 'session' },
      elsewhere: entry,
      former: entry,
    };
    shared = await startHub({ config: { servers } });
  });
  afterAll(async () => {
    await shared?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  });

  /** Returns a function that returns how much a counter of the authorization or MCP server has grown since. */
  async function countFrom() {
    const { counts: before } = await world.read();
    return async (name: string) => ((await world.read()).counts[name] ?? 0) - (before[name] ?? 0);
  }

  test(
    'by the dashboard: refresh, more scopes, logout, and no token anywhere',
    { timeout },
    async () => {
      await using world = await startOAuthWorld();
      await using receiver = await startOtlp();
      const env = {
        LOG_LEVEL: 'trace',
        OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
        OTEL_BSP_SCHEDULE_DELAY: '50',
      };
      await using hub = await hubFor(world.resource, { env });
      await using page = await openPage();

      await fails(hub, /agenthub login docs/);
      const before = await stateOf(hub);
      assert.equal(before.state, 'needs_login');
      assert.equal(before['restart_count'], 0);
      assert.equal(z.looseObject({ state: z.string() }).parse(before['breaker']).state, 'closed');

      const link = z.looseObject({ path: z.string() });
      const { path } = link.parse(JSON.parse(await show(hub, '/login-link', 'POST')));
      await page.goto(`${hub.url}${path}`);
      await page.waitForURL(/dashboard$/);
      await page.goto(`${hub.url}/dashboard/servers/docs`);
      await page.locator('#oauth-login-docs').click();
      await grant(page);
      await succeeds(hub);
      await page.goto(`${hub.url}/dashboard/servers/docs`);
      await page.getByText(/valid for .*then renewed/).waitFor();

      // Many calls that wait share one refresh.
      await world.steer({ holdMs: 300 });
      await world.refuseTokens();
      await Promise.all(Array.from({ length: 50 }, () => succeeds(hub)));
      assert.equal((await world.read()).counts['refreshes'], 1);
      await world.steer({ holdMs: 0 });

      // A call that lacks a scope fails alone; the next login asks for both scopes.
      await world.steer({ scope: 'more' });
      await fails(hub, /more access for this call \(more\)/);
      assert.equal((await stateOf(hub)).state, 'running');
      await page.goto(`${hub.url}/dashboard/servers/docs`);
      await page.getByRole('button', { name: 'Log in with more access' }).click();
      await grant(page);
      await succeeds(hub);
      const status = JSON.parse(await show(hub, '/servers/docs/login'));
      assert.deepEqual(status.scope.split(' ').toSorted(), ['more', 'tools']);

      // The dashboard also lists all logins.
      await page.goto(`${hub.url}/dashboard/access`);
      const row = page.getByRole('row', { name: /docs/ });
      await row.getByText(/valid for .*then renewed/).waitFor();
      await row.getByRole('button', { name: 'Log in again to docs' }).waitFor();
      assert.deepEqual(await seriousFindings(page, 'all'), []);
      await page.emulateMedia({ colorScheme: 'dark' });
      assert.deepEqual(await seriousFindings(page, 'contrast'), []);
      await page.setViewportSize({ width: 400, height: 800 });
      assert.ok(Number(await page.evaluate('document.documentElement.scrollWidth')) <= 400);

      await vi.waitFor(() =>
        assert.ok(receiver.spans.some(({ name }) => name.startsWith('tools/call'))),
      );
      const shown: [string, string | Buffer][] = [
        ['config', await readFile(hub.configFile)],
        ['page', await page.content()],
        ['traces', receiver.bodies.join('\n')],
      ];
      for (const path of [
        '/servers',
        '/servers/docs',
        '/servers/docs/login',
        '/servers/docs/logs',
        '/secrets',
        '/activity',
        '/dashboard',
        '/dashboard/servers/docs',
        '/dashboard/audit',
        '/dashboard/activity',
      ])
        shown.push([path, await show(hub, path)]);

      const logout = [cli, 'logout', 'docs', '--url', hub.url];
      const own = { ...process.env, DATA_DIR: hub.dataDir };
      const { stdout } = await promisify(execFile)(process.execPath, logout, { env: own });
      assert.equal(stdout, 'logged out of docs: its tokens are revoked\n');
      await fails(hub, /agenthub login docs/);
      const { counts, secrets } = await world.read();
      assert.equal(counts['revocations'], 2);
      // One registration for each set of scopes: the authorization server limits a client to those that it registered
      // with.
      assert.equal(counts['registrations'], 2);
      await expect.poll(() => auditText(hub)).toMatch(/"oauth_logout"/);
      const audit = await auditText(hub);
      for (const action of ['oauth_login_begun', 'oauth_login'])
        assert.match(audit, new RegExp(`"${action}"`));
      for (const kind of ['access token', 'refresh token', 'client secret', 'code verifier'])
        assert.ok(Object.keys(secrets).filter(name => name.startsWith(kind)).length >= 2, kind);
      for (const file of globSync('**', { cwd: hub.dataDir, withFileTypes: true }))
        if (file.isFile())
          shown.push([file.name, await readFile(join(file.parentPath, file.name))]);
      shown.push(['log', hub.log()]);
      assert.ok(shown.some(([place]) => place === 'secrets.json'));
      assert.deepEqual(
        shown.flatMap(([place, content]) => shownIn(place, content, secrets)),
        [],
      );
    },
  );

  test(
    'by the command; when the user withdraws the access, a person is needed again',
    { timeout },
    async () => {
      const hub = shared;
      const counted = await countFrom();
      await using page = await openPage();
      await fails(hub, /wants a login/);
      await logInByCommand(hub, page);
      await succeeds(hub);
      await world.revokeGrants();
      await fails(hub, /needs a new login \(invalid_grant/);
      assert.deepEqual([await counted('codes'), await counted('refreshes')], [1, 0]);
      await expect.poll(async () => (await stateOf(hub)).state).toBe('needs_login');
      await fails(hub, /agenthub login docs/);
      const ofDocs = async () =>
        (await auditText(hub)).split('\n').filter(line => line.includes('"docs"'));
      await expect.poll(async () => (await ofDocs()).join('\n')).toMatch(/"oauth_refresh"/);
    },
  );

  test('ends with its server, and its tokens are revoked', { timeout }, async () => {
    const hub = shared;
    const counted = await countFrom();
    await fails(hub, /wants a login/, 'former');
    await logIn(hub, 'former');
    await succeeds(hub, 'former');
    assert.deepEqual(JSON.parse(await show(hub, '/servers/former', 'DELETE')).removed.at(-1), {
      kind: 'login',
      name: 'former',
      revoked: true,
    });
    assert.equal(await counted('revocations'), 2);
    const secrets = await readFile(join(hub.dataDir, 'secrets.json'), 'utf8');
    assert.doesNotMatch(secrets, /oauth-former/);
  });

  test('is shared by the instances of all sessions, even older ones', { timeout }, async () => {
    const hub = shared;
    await fails(hub, /wants a login/, 'each');
    await logIn(hub, 'each');
    await using early = await connect(`${hub.url}/mcp/each`);
    assert.equal(await early.call('whoami'), 'called whoami');
    await world.revokeGrants();
    await assert.rejects(early.call('whoami'), /agenthub login each/);
    await logIn(hub, 'each');
    await using late = await connect(`${hub.url}/mcp/each`);
    assert.equal(await late.call('whoami'), 'called whoami');
    assert.equal(await early.call('whoami'), 'called whoami');
  });

  test(
    'tokens for another audience: the server refuses them, and no request is repeated',
    { timeout },
    async () => {
      const hub = shared;
      const counted = await countFrom();
      await world.steer({ audience: 'http://elsewhere.example/mcp' });
      try {
        await fails(hub, /wants a login/, 'elsewhere');
        await logIn(hub, 'elsewhere');
        await expect
          .poll(async () => (await stateOf(hub, 'elsewhere')).why)
          .toMatch(/refuses the access token of its own authorization server/);
      } finally {
        await world.steer({ audience: world.resource });
      }
      // One token request for the code, and one for the refresh after a 401.
      const tokens = await counted('tokens');
      assert.ok(tokens > 0 && tokens <= 3, String(tokens));
      assert.equal(await counted('calls'), 0);
    },
  );

  test(
    'a clock that differs by an hour does not matter, and a restart of the hub keeps the login',
    { timeout },
    async () => {
      await using ahead = await startOAuthWorld({ skewMs: 3_600_000 });
      await using behind = await startOAuthWorld({ skewMs: -3_600_000 });
      const config = {
        servers: { ahead: { url: ahead.resource }, behind: { url: behind.resource } },
      };
      const worlds = Object.entries({ ahead, behind });
      await using first = await startHub({ config });
      for (const [name] of worlds) {
        await fails(first, /wants a login/, name);
        await logIn(first, name);
        await succeeds(first, name);
      }
      const { dataDir } = first;
      await first.stop();
      await using second = await startHub({ config, dataDir });
      for (const [name, one] of worlds) {
        await succeeds(second, name);
        await one.refuseTokens();
        await succeeds(second, name);
        const { codes, refreshes } = (await one.read()).counts;
        assert.deepEqual([codes, refreshes], [1, 1], name);
      }
    },
  );
});
