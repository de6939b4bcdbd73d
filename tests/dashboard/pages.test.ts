import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { connect } from '#helpers/client';
import { type TestHub, startHub, until } from '#helpers/hub';
import { leadsTo, owner, visitor } from './scene.ts';

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
afterAll(() => hub[Symbol.asyncDispose]());

const newest = (filter: object = {}) => hub.activity.list(filter, 1)[0]?.id ?? assert.fail();

/** Every page that can be opened, whatever is on it. */
const paths = () => [
  '/dashboard',
  '/dashboard/servers/calendar',
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
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";

describe('every page', () => {
  test('comes whole, with headers that let nothing else into it', async () => {
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

  test('has no script or style in it, and escapes what others have written', async () => {
    for (const path of [...paths(), ...partPaths]) {
      const { text } = await page.get(path);
      assert.doesNotMatch(text, /<script(?! src="\/dashboard\/assets\/)/, path);
      const withoutValues = text.replaceAll(/"[^"]*"/g, '""');
      assert.doesNotMatch(withoutValues, /<[^>]*\s(style|on\w+)=|<style/, path);
      assert.doesNotMatch(text, /(href|src|action)="(?!\/dashboard|#main)/, path);
      assert.ok(!text.includes('<img'), path);
    }
    const { text } = await page.get('/dashboard/servers/calendar');
    assert.match(text, /Appointments &lt;img src=x onerror=alert\(1\)&gt;&quot;&#39;/);
  });

  test('leads only to pages that are there', async () => {
    const links = new Set<string>();
    for (const path of paths()) {
      const { text } = await page.get(path);
      for (const [, link = ''] of text.matchAll(/ (?:href|src|hx-get)="([^"]+)"/g))
        links.add(link.replaceAll('&amp;', '&').replaceAll('&#39;', "'"));
    }
    assert.ok(links.size > 30, [...links].join(' '));
    // Of this hub nothing is installed: the page says so.
    for (const link of links)
      if (!link.startsWith('#') && link !== '/dashboard/install')
        assert.equal((await page.get(link)).status, 200, link);
  });

  test('shows no value of an environment, and no token of a call', async () => {
    await page.post('/dashboard/servers/calendar/tool?name=cancel_event', { 'arg.title': secret });
    const cancelled = newest({ tool: 'calendar_cancel_event' });
    for (const path of [...paths(), ...partPaths, `/dashboard/activity/${cancelled}`]) {
      const { text } = await page.get(path);
      assert.ok(!text.includes(secret), path);
      assert.ok(!text.includes('a-value-of-the-environment'), path);
    }
    const { text } = await page.get('/dashboard/servers/calendar');
    assert.match(text, /&quot;API_TOKEN&quot;: &quot;\[redacted\]&quot;/);
    const { text: call } = await page.get(`/dashboard/activity/${cancelled}`);
    assert.match(call, /\[redacted\]/);
  });

  test('loads files under addresses that are kept for ever, and known by what is in them', async () => {
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

  test('that is not there says so, and so does a server, a tool and a call', async () => {
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

describe('the overview', () => {
  test('shows each server with its state, and why it does not run', async () => {
    const { text } = await page.get('/dashboard');
    const rows = [...text.matchAll(/<tr role="row"><th role="rowheader"[\s\S]*?<\/tr>/g)].map(
      String,
    );
    const rowOf = (name: string) => rows.find(row => row.includes(`/servers/${name}"`)) ?? '';
    assert.match(rowOf('calendar'), /badge good">running/);
    assert.match(rowOf('broken'), /badge bad">failed[\s\S]*API_KEY is not set/);
    assert.match(rowOf('idle'), /badge idle">stopped[\s\S]*actions\/start\/idle/);
    assert.match(rowOf('off'), /badge idle">disabled/);
    assert.doesNotMatch(rowOf('off'), /<button/);
  });

  test('says what keeps the hub from being well', async () => {
    const { text } = await page.get('/dashboard');
    assert.match(text, /badge warn">Degraded<[\s\S]{0,60}<p class="note">(?:Engine, )?broken</);
  });

  test('shows the parts, the charts and the last calls', async () => {
    const { text } = await page.get('/dashboard');
    for (const part of ['Engine', 'Config', 'Breakers']) assert.match(text, new RegExp(part));
    assert.match(text, /aria-label="Calls per 10 s: \d+ calls/);
    assert.match(text, /aria-label="Call duration: lately [\d.]+ ms/);
    assert.match(text, /calendar_cancel_event[\s\S]*badge warn">tool error/);
  });

  test('tells a hub without servers and calls what to do', async () => {
    await using bare = await startHub([]);
    const { text } = await owner(bare).get('/dashboard');
    assert.match(text, /No servers yet\.[\s\S]*href="\/dashboard\/install"/);
    assert.match(text, /No calls yet\.[\s\S]*http:\/\/127\.0\.0\.1:\d+\/mcp/);
    const { text: sessions } = await owner(bare).get('/dashboard/sessions');
    assert.match(sessions, /No client is connected\./);
  });
});

describe('the page of a server', () => {
  test('shows what it offers, its log, its config in the words of the file, and that it has no sandbox', async () => {
    const { text } = await page.get('/dashboard/servers/calendar');
    assert.match(text, /tool\?name=create_event/);
    assert.match(text, /cancel_event: \{/);
    assert.match(text, /&quot;max_restarts&quot;: 3/);
    assert.match(text, /without a sandbox/);
    assert.match(text, /actions\/stop\/calendar[\s\S]*actions\/restart\/calendar/);
  });

  test('stops and starts it with forms alone, and says so', async () => {
    const stopped = leadsTo(await page.post('/dashboard/actions/stop/notes'));
    assert.match((await page.get(stopped)).text, /notice good">notes is being stopped\./);
    await until(() => hub.server('notes').status.state === 'stopped');
    leadsTo(await page.post('/dashboard/actions/start/notes'));
    await until(() => hub.server('notes').status.state === 'running');
    const before = hub.server('notes').running;
    leadsTo(await page.post('/dashboard/actions/restart/notes'));
    await until(() => {
      const { running } = hub.server('notes');
      return running !== undefined && running !== before;
    });
  });

  test('gives htmx a notice in place of a page', async () => {
    const { status, text } = await page.post(
      '/dashboard/actions/start/calendar',
      {},
      { 'hx-request': 'true' },
    );
    assert.equal(status, 200);
    assert.equal(text, '<p class="notice good">calendar is being started.</p>');
    const refused = await page.post('/dashboard/actions/start/off', {}, { 'hx-request': 'true' });
    assert.deepEqual([refused.status, refused.headers['hx-retarget']], [409, '#notice']);
    assert.match(refused.text, /^<p class="notice bad" role="alert">off is disabled/);
  });

  test('says nothing that a link has made up', async () => {
    const { text } = await page.get('/dashboard?done=remove&about=Call+555-1234+now!');
    assert.match(text, /<div id="notice" role="status"><\/div>/);
  });
});

describe('the form of a tool', () => {
  const path = '/dashboard/servers/calendar/tool?name=create_event';

  test('has a field for each argument, and one for all of them as JSON', async () => {
    const { text } = await page.get(path);
    assert.match(text, /<input id="arg\.title" name="arg\.title"[^>]* required type="text"/);
    assert.match(text, /<input id="arg\.attendees"[^>]* type="number" step="1"/);
    assert.match(text, /<select id="arg\.room"[\s\S]*?<option>Garden<\/option>/);
    assert.match(text, /<select id="arg\.remind"[\s\S]*?<option>true<\/option>/);
    assert.match(text, /<textarea id="arg\.agenda"/);
    assert.match(text, /<textarea id="json"/);
  });

  test('calls the tool with what is in its fields', async () => {
    const form = {
      'arg.title': hostile,
      'arg.attendees': '4',
      'arg.room': 'Garden',
      'arg.remind': 'false',
      'arg.agenda': '["tea"]',
      json: '',
    };
    const { status, text } = await page.post(path, form, { 'hx-request': 'true' });
    assert.equal(status, 200);
    assert.match(text, /badge good">ok/);
    const given = { title: hostile, attendees: 4, room: 'Garden', remind: false, agenda: ['tea'] };
    const [, said = ''] = /aria-label="Text">([^<]*)</.exec(text) ?? [];
    const plain = said
      .replaceAll('&quot;', '"')
      .replaceAll('&#39;', "'")
      .replaceAll('&lt;', '<')
      .replaceAll('&gt;', '>');
    assert.deepEqual(JSON.parse(plain), given);
  });

  test('takes them as JSON instead, and without script shows page, fields and result', async () => {
    const json = '{"title":"Tea","room":"Kitchen"}';
    const { status, text } = await page.post(path, { 'arg.title': 'Coffee', json });
    assert.equal(status, 200);
    assert.match(text, /<h1>create_event<\/h1>/);
    assert.match(text, /id="arg\.title"[^>]* value="Coffee"/);
    assert.match(
      text,
      /aria-label="Text">\{&quot;title&quot;:&quot;Tea&quot;,&quot;room&quot;:&quot;Kitchen&quot;\}</,
    );
  });

  test('names the field that cannot be read, and calls nothing', async () => {
    const before = newest();
    const rows: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
      [{ 'arg.title': '' }, /title: is missing/],
      [
        { 'arg.title': 'a', 'arg.room': 'Garden', 'arg.attendees': '1.5' },
        /attendees: &quot;1\.5&quot; is no integer/,
      ],
      [
        { 'arg.title': 'a', 'arg.room': 'Garden', 'arg.remind': 'maybe' },
        /remind: &quot;maybe&quot; is no boolean: write true or false/,
      ],
      [{ 'arg.title': 'a', 'arg.room': 'Garden', 'arg.agenda': '[' }, /agenda: is no JSON/],
      [{ json: '[1]' }, /the arguments: write an object/],
      [{ json: '{' }, /the arguments: is no JSON/],
    ];
    for (const [form, problem] of rows) {
      const { status, text } = await page.post(path, form);
      assert.equal(status, 400, text);
      assert.match(text, problem);
    }
    assert.equal(newest(), before);
  });

  test('refuses a form that is too long, and names the bound', async () => {
    const { status, text } = await page.post(path, { 'arg.title': 'a'.repeat(2 ** 20) });
    assert.equal(status, 413);
    assert.match(text, /The form is larger than the hub takes: 1048576 bytes/);
  });

  test('shows what a tool reports as its error', async () => {
    const { text } = await page.post('/dashboard/servers/calendar/tool?name=cancel_event', {
      'arg.title': 'Tea',
    });
    assert.match(text, /badge warn">tool error/);
  });
});

describe('the activity', () => {
  const callsIn = (text: string) => [...text.matchAll(/id="call-\d+"/g)].length;

  test('is filtered by server, client, tool, outcome and text', async () => {
    const rows = [
      ['server=notes', /notes_remember/, /calendar_/],
      ['client=agenthub-tests+1.0.0&server=calendar', /calendar_create_event/, /notes_/],
      ['tool=notes_remember', /notes_remember/, /calendar_/],
      ['outcome=tool_error', /calendar_cancel_event/, /notes_remember/],
      ['text=REMEMBER', /notes_remember/, /calendar_/],
    ] as const;
    for (const [query, found, missing] of rows)
      for (const path of ['activity', 'activity-partial']) {
        const { text } = await page.get(`/dashboard/${path}?${query}`);
        const [, list = text] = /<div id="calls"([\s\S]*)/.exec(text) ?? [];
        assert.match(list, found, query);
        assert.doesNotMatch(list, missing, query);
      }
    const { text } = await page.get('/dashboard/activity?text=nothing-is-like-this');
    assert.match(text, /No call matches the filter\./);
  });

  test('keeps the filter in its form, in its live part and in the address', async () => {
    const { text } = await page.get('/dashboard/activity?server=notes&text=rem');
    assert.match(text, /<option selected>notes<\/option>/);
    assert.match(text, /name="text"[^>]* value="rem"/);
    assert.match(text, /hx-get="\/dashboard\/activity-partial\?server=notes&amp;text=rem"/);
    const { headers } = await page.get('/dashboard/activity-partial?server=notes&text=&outcome=', {
      'hx-request': 'true',
    });
    assert.equal(headers['hx-replace-url'], '/dashboard/activity?server=notes');
  });

  test('is read page by page, of which only the first is live', async () => {
    await using client = await connect(`${hub.url}/mcp/notes`);
    for (let at = 0; at < 60; at++) await client.call('remember', { text: `${at}` });
    const { text: first } = await page.get('/dashboard/activity?server=notes');
    assert.equal(callsIn(first), 50);
    const [, older = ''] = /href="([^"]*before=\d+)">Older/.exec(first) ?? [];
    const { text: second } = await page.get(older.replaceAll('&amp;', '&'));
    assert.ok(callsIn(second) >= 10);
    assert.match(second, />Newest</);
    assert.doesNotMatch(second, /id="calls" hx-get/);
  });

  test('has a page for each call, with what was said both ways', async () => {
    const { text } = await page.get(`/dashboard/activity/${newest({ tool: 'notes_remember' })}`);
    assert.match(text, /aria-label="Request">[\s\S]*a note/);
    assert.match(text, /aria-label="Answer">[\s\S]*result/);
    assert.match(text, /hub [\d.]+ ms[\s\S]*server [\d.]+ ms/);
  });
});

test('a session is shown with its client while it is open, and leads to its calls', async () => {
  await using _ = await connect(`${hub.url}/mcp/notes`);
  const { text } = await page.get('/dashboard/sessions');
  const [row = ''] = /<tr role="row"><th role="rowheader"[\s\S]*?<\/tr>/.exec(text) ?? [];
  assert.match(row, /agenthub-tests 1\.0\.0/);
  assert.match(row, /data-title="Over">http</);
  assert.match(row, /data-title="Sees"><a href="\/dashboard\/servers\/notes"/);
  const [, link = ''] = /href="(\/dashboard\/activity\?session=\d+)"/.exec(row) ?? [];
  assert.match((await page.get(link)).text, /initialize/);
});

test('a hub that improves no prompts says so where its caches would be', async () => {
  assert.match((await page.get('/dashboard/caches')).text, /This hub does not improve prompts\./);
  assert.equal((await page.post('/dashboard/actions/clear-cache')).status, 409);
});
