import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { describeWithBrowser, sharedBrowser } from '#helpers/browser';
import { type HubProcess, startHub, until } from '#helpers/hub-process';
import { type Program, openCallback, programs } from '#helpers/program-login';
import { seriousFindings } from '../dashboard/browser/axe.ts';

const root = join(import.meta.dirname, '../..');
const servers = {
  echo: {
    command: process.execPath,
    args: [join(root, 'tests/fixtures/servers/echo.mjs')],
    runtime: 'process',
    auto_start: true,
  },
};
const listed = z.object({
  clients: z.array(
    z.looseObject({
      name: z.string(),
      administer: z.boolean(),
      last_seen: z.string().nullable(),
      expires_at: z.string().optional(),
    }),
  ),
});

async function asOwner({ url, ownerHeaders: headers }: HubProcess, path: string, method = 'GET') {
  const answer = await fetch(`${url}${path}`, { method, headers });
  return await answer.text();
}

const clientsOf = async (hub: HubProcess) =>
  listed.parse(JSON.parse(await asOwner(hub, '/clients'))).clients;

/** Opens a page that is logged in to the dashboard at localhost, as by `agenthub open`. */
async function openLoggedIn(hub: HubProcess, browser: Browser): Promise<Page> {
  const page = await (await browser.newContext()).newPage();
  const { path } = z
    .object({ path: z.string() })
    .parse(JSON.parse(await asOwner(hub, '/login-link', 'POST')));
  await page.goto(`${hub.url.replace('127.0.0.1', 'localhost')}${path}`);
  await page.waitForURL(/dashboard$/);
  return page;
}

async function auditText({ dataDir }: HubProcess): Promise<string> {
  const folder = join(dataDir, 'audit');
  const texts = (await readdir(folder)).map(name => readFile(join(folder, name), 'utf8'));
  return (await Promise.all(texts)).join('\n');
}

const refused = async (work: Promise<unknown>) => await assert.rejects(work, /Unauthorized|401/i);

describeWithBrowser('a program that logs in to the hub', () => {
  let hub: HubProcess;
  let browser: Browser;
  let page: Page;

  beforeAll(async () => {
    browser = await sharedBrowser();
    hub = await startHub({ config: { servers, tokens: 'required' } });
    await until(
      () => asOwner(hub, '/servers/echo'),
      text => text.includes('"running"'),
      20_000,
    );
    page = await openLoggedIn(hub, browser);
  }, 60_000);
  afterAll(async () => {
    await page?.context().close();
    await hub?.[Symbol.asyncDispose]();
  });

  test.each(Object.keys(programs))('is logged in with one click: %s', async which => {
    const name = `Program ${Object.keys(programs).indexOf(which)}`;
    await using callback = await openCallback();
    const program = programs[which]?.(hub.url, callback.url, `${name} (agenthub)`);
    assert.ok(program);
    await refused(program.use());

    await page.goto(program.provider.opened());
    await page.getByText('its own claim, which the hub cannot check').waitFor();
    assert.equal(await page.locator('dd code').first().innerText(), callback.url);
    assert.deepEqual(await seriousFindings(page, 'all'), []);
    await page.getByRole('button', { name: 'Allow' }).click();
    await page.getByRole('heading', { name: 'Back in the program' }).waitFor();
    const params = await callback.called;
    assert.equal(params.get('state'), 'state-of-the-program');
    assert.equal(params.get('iss'), hub.url);
    await program.finish(params);
    program.provider.wantsBrowser();

    await program.use();
    const client = (await clientsOf(hub)).find(
      one => one.name === name.toLowerCase().replace(' ', '-'),
    );
    assert.ok(client?.last_seen);
    assert.equal(client.administer, false);
    const days = (Date.parse(client.expires_at ?? '') - Date.now()) / 86_400_000;
    assert.ok(days > 89 && days <= 90, String(days));
    await page.goto(`${hub.url.replace('127.0.0.1', 'localhost')}/dashboard/access`);
    await page.getByRole('row', { name: client.name }).getByText('by login').waitFor();

    // After its token is revoked, the program opens the browser again.
    await asOwner(hub, `/clients/${client.name}/token`, 'DELETE');
    await refused(program.use());
    assert.ok(program.provider.wantsBrowser());
  });

  test.each(Object.keys(programs))('is refused when the owner denies it: %s', async which => {
    await using callback = await openCallback();
    const program = programs[which]?.(hub.url, callback.url, 'Denied one');
    assert.ok(program);
    await refused(program.use());
    await page.goto(program.provider.opened());
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByRole('heading', { name: 'Back in the program' }).waitFor();
    const params = await callback.called;
    assert.equal(params.get('error'), 'access_denied');
    await assert.rejects(program.finish(params));
    await refused(program.use());
    assert.ok(!(await clientsOf(hub)).some(({ name }) => name.startsWith('denied')));
    await expect
      .poll(() => auditText(hub))
      .toMatch(/"client_login_denied".*denied-one.*"Denied one"/);
    assert.match(await auditText(hub), /"client_login_allowed".*program-0/);
  });

  test('requires a new decision after its expiry: %s', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'agenthub-expired-'));
    await using cleanup = new AsyncDisposableStack();
    cleanup.defer(() => rm(dataDir, { recursive: true, force: true }));
    const config = { servers, tokens: 'required' };
    const first = cleanup.use(await startHub({ config, dataDir }));
    const visitor = await openLoggedIn(first, browser);
    cleanup.defer(() => visitor.context().close());
    const old: { readonly name: string; readonly program: Program }[] = [];
    for (const [index, open] of Object.values(programs).entries()) {
      await using callback = await openCallback();
      const name = `Old ${index}`;
      const program = open(first.url, callback.url, name);
      old.push({ name, program });
      await refused(program.use());
      await visitor.goto(program.provider.opened());
      await visitor.locator('#allow').click();
      // Wait for this page to load, as it would interrupt the next navigation.
      await visitor.getByRole('heading', { name: 'Back in the program' }).waitFor();
      await program.finish(await callback.called);
      await program.use();
    }
    await first.stop();

    const file = join(dataDir, 'client-tokens.json');
    const text = await readFile(file, 'utf8');
    const yesterday = new Date(Date.now() - 86_400_000).toISOString();
    await writeFile(file, text.replaceAll(/(?<="expires_at": ")[^"]+/g, yesterday));
    const port = Number(new URL(first.url).port);
    const second = cleanup.use(await startHub({ config, dataDir, port }));
    for (const { name, program } of old) {
      program.provider.wantsBrowser();
      await refused(program.use());
      assert.deepEqual(await clientsOf(second), []);
      await visitor.goto(program.provider.opened());
      await visitor.getByRole('heading', { name: `Allow ${name}?` }).waitFor();
      await refused(program.use());
    }
  });

  test('waits for the login of the owner in a browser that is not logged in', async () => {
    await using callback = await openCallback();
    const program = programs['the v2 client, stateless']?.(hub.url, callback.url, 'Late');
    assert.ok(program);
    await refused(program.use());
    const context = await browser.newContext();
    const stranger = await context.newPage();
    await stranger.goto(program.provider.opened());
    await stranger.getByText('Only its owner can decide').waitFor();
    assert.equal(await stranger.locator('#allow').count(), 0);
    const { path } = z
      .object({ path: z.string() })
      .parse(JSON.parse(await asOwner(hub, '/login-link', 'POST')));
    const other = await context.newPage();
    await other.goto(`${hub.url.replace('127.0.0.1', 'localhost')}${path}`);
    await other.waitForURL(/dashboard$/);
    await stranger.locator('#go-on').click();
    await stranger.locator('#allow').click();
    await program.finish(await callback.called);
    await program.use();
    await context.close();
  });

  test('cannot be logged in by a page of another origin', async () => {
    await using callback = await openCallback();
    const program = programs['the v2 client, stateless']?.(hub.url, callback.url, 'Led here');
    assert.ok(program);
    await refused(program.use());
    const asked = program.provider.opened();
    const { origin } = new URL(asked);
    const foreign = createServer((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/html' });
      response.end(`<a id="lead" href="${asked.replaceAll('&', '&amp;')}">Win a prize</a>
<iframe src="${asked.replaceAll('&', '&amp;')}"></iframe>
<form method="post" action="${origin}/dashboard/authorize"><input name="decision" value="allow"><input name="name" value="evil"><button>Post</button></form>`);
    }).listen(0, '127.0.0.1');
    await once(foreign, 'listening');
    const bound = foreign.address();
    assert.ok(bound !== null && typeof bound === 'object');
    // localhost is the same site, so the browser sends the owner's cookie.
    const prize = `http://localhost:${bound.port}/`;
    try {
      await page.goto(prize);
      assert.equal(await page.frames()[1]?.locator('#allow').count(), 0);
      await page.getByRole('button', { name: 'Post' }).click();
      await page.waitForURL(/authorize$/);
      assert.match(await page.content(), /may not call this hub/);
      await page.goto(prize);
      await page.locator('#lead').click();
      await page.getByRole('heading', { name: 'A page led you here' }).waitFor();
      assert.equal(await page.locator('#allow').count(), 0);
      await page.locator('#go-on').click();
      await page.locator('#allow').waitFor();
    } finally {
      foreign.closeAllConnections();
      foreign.close();
    }
  });

  test('passes what the conformance suite asks of an authorization server', async () => {
    await using callback = await openCallback();
    const { port } = new URL(callback.url);
    await callback[Symbol.asyncDispose]();
    const registered = await fetch(`${hub.url}/oauth/register`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ client_name: 'Suite', redirect_uris: [callback.url] }),
    });
    const { client_id: id } = z
      .looseObject({ client_id: z.string() })
      .parse(await registered.json());
    const suite = spawn(
      process.execPath,
      [
        join(root, 'node_modules/@modelcontextprotocol/conformance/dist/index.js'),
        'authorization',
        '--url',
        hub.url,
        '--client-id',
        id,
        '--resource',
        `${hub.url}/mcp`,
        '--port',
        port,
      ],
      { cwd: hub.dataDir, stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const ended = once(suite, 'exit');
    let output = '';
    for await (const line of createInterface({ input: suite.stdout })) {
      output += `${line}\n`;
      if (!line.includes('/dashboard/authorize?')) continue;
      await page.goto(line.trim());
      await page.locator('#allow').click();
    }
    const [code] = await ended;
    assert.equal(code, 0, output);
    assert.match(output, /authorization-code-grant/);
  });
});
