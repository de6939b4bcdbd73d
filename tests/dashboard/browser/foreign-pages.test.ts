import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { test } from 'vitest';
import { isObject } from '#core';
import { describeWithBrowser, sharedBrowser } from '#helpers/browser';
import { type HubProcess, startHub, states, until } from '#helpers/hub-process';

const fixtures = join(import.meta.dirname, '../../fixtures');
const echo = {
  command: process.execPath,
  args: [join(fixtures, 'servers/echo.mjs')],
  runtime: 'process',
  auto_start: true,
};

/** Requests that change something or call a tool: method, path, and a body that the hub would accept. */
const requests = [
  ['POST', '/servers/echo/stop', ''],
  ['POST', '/servers/echo/restart', ''],
  ['DELETE', '/servers/echo', ''],
  ['POST', '/servers/install', '{"name":"evil","package":"evil@1.0.0"}'],
  ['POST', '/config/reload', '{}'],
  ['POST', '/login-link', ''],
  ['POST', '/clients/evil/token', ''],
  ['DELETE', '/clients/cursor/token', ''],
  ['POST', '/policy/test', '{"client":"x","tool":"y"}'],
  ['DELETE', '/ollama/cache', ''],
  ['POST', '/agents/evil/messages', '{"text":"x"}'],
  ['DELETE', '/agents/evil', ''],
  ['POST', '/dashboard/actions/stop/echo', ''],
  ['POST', '/dashboard/actions/remove/echo', 'purge=on'],
  ['POST', '/dashboard/actions/clear-cache', ''],
  ['POST', '/dashboard/servers/echo/tool', 'tool=echo&text=x'],
  ['POST', '/dashboard/install', 'name=evil&package=evil@1.0.0'],
  ['POST', '/dashboard/agents', 'id=evil&text=x'],
  ['POST', '/dashboard/logout', ''],
  ['POST', '/mcp/echo/tools/call', '{"name":"echo","arguments":{"text":"x"}}'],
] as const;
const pages = [
  '/dashboard/access',
  '/dashboard/audit',
  '/clients',
  '/secrets',
  '/audit',
  '/policy',
];

/**
 * Serves a page on another port of localhost. Browsers treat it as the same site, and send cookies with its requests.
 */
async function openForeign() {
  const script = await readFile(join(fixtures, 'pages/foreign.js'), 'utf8');
  const server = createServer(({ url }, response) => {
    const referrer = url === '/silent' ? 'no-referrer' : 'unsafe-url';
    response.setHeader('content-type', 'text/html');
    response.end(
      `<!doctype html><meta name=referrer content="${referrer}"><body></body><script>${script.replaceAll('</script>', '<\\/script>')}</script>`,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  return {
    url: `http://localhost:${typeof bound === 'object' ? bound?.port : ''}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Returns the numbers of the audit lines about changes and calls. */
async function changesOf(hub: HubProcess): Promise<readonly unknown[]> {
  const response = await fetch(`${hub.url}/audit?limit=500`, { headers: hub.ownerHeaders });
  const answer: unknown = await response.json();
  assert.ok(isObject(answer) && Array.isArray(answer['lines']));
  const lines: readonly unknown[] = answer['lines'];
  return lines.flatMap(line =>
    isObject(line) && line['kind'] !== 'refusal' ? [[line['seq'], line['action']]] : [],
  );
}

describeWithBrowser('a page of another port of localhost, while its browser is logged in', () => {
  test(
    'changes, calls and reads nothing, with and without a referrer',
    { timeout: 60_000 },
    async () => {
      await using hub = await startHub({ config: { servers: { echo } } });
      await until(
        () => states(hub),
        ({ echo: state }) => state === 'running',
        20_000,
      );
      await using foreign = await openForeign();
      const browser = await sharedBrowser();
      const context = await browser.newContext();
      try {
        const own = await context.newPage();
        const base = `http://localhost:${new URL(hub.url).port}`;
        const made = await fetch(`${hub.url}/login-link`, {
          method: 'POST',
          headers: hub.ownerHeaders,
        });
        const link: unknown = await made.json();
        await own.goto(`${base}${String(isObject(link) && link['path'])}`);
        // The page of the link redirects by itself, which would override an earlier navigation.
        await own.waitForURL(`${base}/dashboard`);
        await own.goto(`${base}/dashboard/access`);
        assert.equal(await own.title(), 'Access \u00b7 AgentHub');
        const before = await until(
          () => changesOf(hub),
          lines => lines.length >= 3,
          20_000,
        );
        assert.deepEqual(before.length, 3, 'the start, the pins of the server, and the link');
        for (const path of ['/', '/silent']) {
          const page = await context.newPage();
          await page.goto(foreign.url + path);
          const given = JSON.stringify({ base, requests, pages });
          assert.deepEqual(await page.evaluate(`attack(${given})`), []);
          await page.close();
        }
        assert.deepEqual(await changesOf(hub), before);
        assert.equal((await states(hub))['echo'], 'running');
        await own.reload();
        assert.equal(await own.title(), 'Access \u00b7 AgentHub', 'and nobody was logged out');
      } finally {
        await context.close();
      }
    },
  );
});
