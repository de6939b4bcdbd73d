import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { type TestHub, startHub } from '#helpers/hub';
import { owner, visitor } from './scene.ts';

const secret = 'ghp_0123456789abcdefghijklmnopqrstuvwxyz';
const hostile = `<img src=x onerror=alert(1)>"'`;

let hub: TestHub;
let page: ReturnType<typeof visitor>;

beforeAll(async () => {
  hub = await startHub([
    {
      name: 'calendar',
      description: `Appointments ${hostile}`,
      env: { API_TOKEN: secret, PLAIN: 'a-value-of-the-environment' },
    },
    { name: 'notes', file: 'stateful.mjs' },
    { name: 'idle', file: 'echo.mjs', autoStart: false },
    { name: 'broken', file: 'exit-at-once.mjs', restart: 'temporary' },
    { name: 'off', file: 'echo.mjs', enabled: false, autoStart: false },
  ]);
  page = owner(hub);
  await using client = await connect(`${hub.url}/mcp`);
  await client.call('calendar_create_event', { title: hostile, room: 'Kitchen' });
  await client.call('calendar_cancel_event', { title: secret });
  await client.call('notes_remember', { text: 'a note' });
});
afterAll(() => hub?.[Symbol.asyncDispose]());

const newest = (filter: object = {}) => hub.activity.list(filter, 1)[0]?.id ?? assert.fail();

/** Returns the paths of all pages. */
const paths = () => [
  '/dashboard',
  '/dashboard/servers/calendar',
  '/dashboard/servers/calendar?tab=log',
  '/dashboard/servers/calendar?tab=details',
  '/dashboard/servers/idle',
  '/dashboard/servers/broken',
  '/dashboard/servers/off',
  '/dashboard/servers/calendar/tool?name=create_event',
  '/dashboard/servers/calendar/remove',
  '/dashboard/activity',
  `/dashboard/activity?text=${encodeURIComponent(hostile)}&server=${encodeURIComponent(hostile)}`,
  `/dashboard/activity/${newest()}`,
  '/dashboard/caches',
  '/dashboard/sessions',
  '/dashboard/connect',
];
const partPaths = [
  '/dashboard/health-partial',
  '/dashboard/stats-partial',
  '/dashboard/activity-partial',
  '/dashboard/activity-partial?recent=yes',
  '/dashboard/sessions-partial',
  '/dashboard/servers/calendar/state-partial',
  '/dashboard/servers/calendar/offers-partial',
  '/dashboard/servers/calendar/log-partial',
];

const csp =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

describe('every page', () => {
  test('is complete, with headers that allow no foreign content', async () => {
    for (const path of [...paths(), ...partPaths]) {
      const { status, headers, text } = await page.get(path);
      assert.equal(status, 200, path);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8', path);
      assert.equal(headers['content-security-policy'], csp, path);
      assert.equal(headers['x-content-type-options'], 'nosniff', path);
      assert.equal(headers['x-frame-options'], 'DENY', path);
      assert.equal(headers['referrer-policy'], 'same-origin', path);
      assert.equal(headers['cache-control'], 'no-store', path);
      assert.match(headers['server-timing']?.toString() ?? '', /^app;dur=\d/, path);
      assert.doesNotMatch(text, /\[object |undefined|NaN/, path);
    }
  });

  test('has no inline script or style, and escapes foreign texts', async () => {
    for (const path of [...paths(), ...partPaths]) {
      const { text } = await page.get(path);
      assert.doesNotMatch(text, /<script(?! src="\/dashboard\/assets\/)/, path);
      const withoutValues = text.replaceAll(/"[^"]*"/g, '""');
      assert.doesNotMatch(withoutValues, /<[^>]*\s(style|on\w+)=|<style/, path);
      assert.doesNotMatch(text, /(href|src|action)="(?!\/dashboard|#main|cursor:|vscode:)/, path);
      assert.ok(!text.includes('<img'), path);
    }
    const { text } = await page.get('/dashboard/servers/calendar');
    assert.match(text, /Appointments &lt;img src=x onerror=alert\(1\)&gt;&quot;&#39;/);
  });

  test('has only links to pages that exist', async () => {
    const links = new Set<string>();
    for (const path of paths()) {
      const { text } = await page.get(path);
      for (const [, link = ''] of text.matchAll(/ (?:href|src|hx-get)="([^"]+)"/g))
        links.add(link.replaceAll('&amp;', '&').replaceAll('&#39;', "'"));
    }
    assert.ok(links.size > 30, [...links].join(' '));
    // This hub changes no config, and has no catalog and no audit log, so these pages are absent.
    const absent = new Set<string | undefined>([
      '/dashboard/install',
      '/dashboard/catalog',
      '/dashboard/audit',
    ]);
    for (const link of links)
      if (link.startsWith('/') && !absent.has(link))
        assert.equal((await page.get(link)).status, 200, link);
  });

  test('shows no value of an environment variable, and no token of a call', async () => {
    await page.post('/dashboard/servers/calendar/tool?name=cancel_event', { 'arg.title': secret });
    const cancelled = newest({ tool: 'calendar_cancel_event' });
    for (const path of [...paths(), ...partPaths, `/dashboard/activity/${cancelled}`]) {
      const { text } = await page.get(path);
      assert.ok(!text.includes(secret), path);
      assert.ok(!text.includes('a-value-of-the-environment'), path);
    }
    const { text } = await page.get('/dashboard/servers/calendar?tab=details');
    assert.match(text, /&quot;API_TOKEN&quot;: &quot;\[redacted\]&quot;/);
    const { text: call } = await page.get(`/dashboard/activity/${cancelled}`);
    assert.match(call, /\[redacted\]/);
  });

  test('loads files with a hash in their name, which are cached forever', async () => {
    const { text } = await page.get('/dashboard');
    const files = [...text.matchAll(/"(\/dashboard\/assets\/[\w.]+)"/g)].map(
      ([, file = '']) => file,
    );
    assert.deepEqual(
      files.map(file => file.replace(/\.[0-9a-f]{12}\./, '.').slice('/dashboard/assets/'.length)),
      ['icon.svg', 'dashboard.css', 'htmx.js', 'dashboard.js'],
    );
    for (const file of files) {
      const { status, headers, text: body } = await page.get(file);
      assert.equal(status, 200);
      assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable');
      assert.equal(headers['x-content-type-options'], 'nosniff');
      assert.ok(body.length > 100, file);
    }
    const other = await page.get('/dashboard/assets/dashboard.000000000000.css');
    assert.equal(other.status, 404);
  });

  test.for([
    ['/dashboard/', '/dashboard'],
    ['/dashboard/?done=start&about=x/', '/dashboard?done=start&about=x/'],
    ['/dashboard/servers/calendar/', '/dashboard/servers/calendar'],
  ])('%s redirects to its page without the slash', async ([path = '', expected = '']) => {
    const { status, headers } = await page.get(path);
    assert.deepEqual([status, headers.location], [303, expected]);
  });

  test('that does not exist says so, and so does a server, a tool and a call', async () => {
    for (const path of [
      '/dashboard/nowhere',
      '/dashboard/servers/nobody',
      '/dashboard/servers/nobody/tool?name=x',
      '/dashboard/servers/calendar/tool?name=nothing',
      '/dashboard/activity/999999999',
      '/dashboard/activity/abc',
    ]) {
      const { status, text, headers } = await page.get(path);
      assert.equal(status, 404, path);
      assert.equal(headers['content-type'], 'text/html; charset=utf-8', path);
      assert.match(text, /<h1>Not found<\/h1>[\s\S]*To the overview/, path);
      assert.doesNotMatch(text, /node_modules|\.ts:\d/, path);
    }
  });
});
