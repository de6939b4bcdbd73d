import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test, vi } from 'vitest';
import { type TestHub, ownerHeaders, startHub } from '#helpers/hub';
import { type Seen, leadsTo, owner, visitor } from '../../dashboard/scene.ts';

const token = 'the-token-of-this-hub';
const cookieOf = ({ headers }: Seen) =>
  headers['set-cookie']?.[0] ?? assert.fail('no cookie was set');
/** Returns the cookie that the response sets, in the form in which a browser sends it back. */
const pairOf = (seen: Seen) => cookieOf(seen).split(';')[0] ?? '';
/** Returns the path of a new login link. */
const linkOf = (hub: TestHub) => hub.loginLink().slice(new URL(hub.loginLink()).origin.length);
const open = [
  '/dashboard',
  '/dashboard/health-partial',
  '/dashboard/servers/echo',
  '/dashboard/events',
];
const actions = [
  '/dashboard/actions/stop/echo',
  '/dashboard/actions/restart/echo',
  '/dashboard/actions/remove/echo',
  '/dashboard/actions/clear-cache',
  '/dashboard/servers/echo/tool?name=echo',
  '/dashboard/install',
];

describe('a form', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub([{ name: 'echo' }]);
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  test('of a page of another origin is refused with 403, and does nothing', async () => {
    const { host } = new URL(hub.url);
    for (const path of actions)
      for (const headers of [
        { 'sec-fetch-site': 'cross-site' },
        { 'sec-fetch-site': 'same-site' },
        { 'sec-fetch-site': 'same-site', origin: 'http://localhost:3000' },
        { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
        { 'sec-fetch-site': 'cross-site', origin: 'null' },
      ]) {
        const { status } = await visitor(hub).post(path, {}, headers);
        assert.equal(status, 403, `${path} ${JSON.stringify(headers)}`);
      }
    const { status, text } = await visitor(hub).post(
      actions[0] ?? '',
      {},
      {
        'sec-fetch-site': 'same-site',
        origin: `http://${host}`,
      },
    );
    assert.equal(status, 403);
    assert.match(text, /may not call this hub/);
    assert.equal(hub.server('echo').status.state, 'running');
    assert.equal(hub.activity.lastId, 0);
  });

  test('is the only content type that actions accept', async () => {
    const { status } = await owner(hub).post(
      '/dashboard/actions/stop/echo',
      {},
      { 'content-type': 'application/json' },
    );
    assert.equal(status, 415);
    assert.equal(hub.server('echo').status.state, 'running');
  });

  test('that is too long is refused', async () => {
    const { status } = await owner(hub).post('/dashboard/install', { env: 'x'.repeat(2 ** 20) });
    assert.equal(status, 413);
  });

  test('has the line breaks that were typed, without the CR that browsers add', async () => {
    const form = { 'arg.text': 'one\r\ntwo' };
    await owner(hub).post('/dashboard/servers/echo/tool?name=echo', form);
    await vi.waitFor(() => assert.notEqual(hub.activity.lastId, 0));
    const { text } = await owner(hub).get(`/dashboard/activity/${hub.activity.lastId}`);
    assert.match(text, /one\\ntwo/);
    assert.doesNotMatch(text, /one\\r/);
  });

  test('is read by no other route of the hub', async () => {
    const { status } = await owner(hub).post('/servers/echo/stop', { a: 'b' });
    assert.equal(status, 400);
  });
});

describe('with a token', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub([{ name: 'echo' }], { http: { token } });
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  test('each page is 401 with the login form, and shows nothing of the hub', async () => {
    for (const path of open) {
      const { status, text } = await visitor(hub).get(path);
      assert.equal(status, 401, path);
      assert.match(text, /<h1>Log in<\/h1>[\s\S]*type="password"/);
      assert.ok(!text.includes('echo</a>'), path);
    }
    for (const path of [...actions, '/dashboard/authorize']) {
      const { status, text } = await visitor(hub).post(path);
      assert.equal(status, 401, path);
      assert.match(text, /Your form was not accepted, because you are not logged in/, path);
    }
    assert.equal(hub.server('echo').status.state, 'running');
    assert.equal((await visitor(hub).get('/health')).status, 401);
  });

  // FastMCP (Python) opens the browser only if the page answers with 200 or a redirect to a visitor without a login.
  test('the page on which a program asks for a login is 200 with the login form', async () => {
    const { status, text } = await visitor(hub).get('/dashboard/authorize?client_id=x');
    assert.equal(status, 200);
    assert.match(text, /<h1>Log in<\/h1>[\s\S]*A program wants to be let in to this hub/);
  });

  test('the form says if the token is wrong', async () => {
    for (const wrong of ['', 'other', `${token}x`]) {
      const { status, text, headers } = await visitor(hub).post('/dashboard/login', {
        token: wrong,
      });
      assert.equal(status, 401);
      assert.match(text, /That is not the token of this hub\./);
      assert.equal(headers['set-cookie'], undefined);
    }
  });

  test('the right token redirects to the page, with a cookie that does not contain it', async () => {
    const answer = await visitor(hub).post('/dashboard/login', {
      token,
      to: '/dashboard/servers/echo?from=1',
    });
    assert.equal(leadsTo(answer), '/dashboard/servers/echo?from=1');
    const cookie = cookieOf(answer);
    assert.match(
      cookie,
      /^agenthub-\d+=call\.\d+\.[\w-]{43}; Max-Age=2592000; Path=\/dashboard; HttpOnly; SameSite=Strict$/,
    );
    assert.ok(!cookie.includes(token));
    const inside = visitor(hub, { cookie: `other=1; ${pairOf(answer)}` });
    assert.equal((await inside.get('/dashboard')).status, 200);
    // The cookie of the token allows a visitor to view the dashboard, and nothing else.
    for (const path of actions) assert.equal((await inside.post(path)).status, 401, path);
    assert.equal((await inside.get('/dashboard/servers/echo/log-partial')).status, 401);
    assert.equal(hub.server('echo').status.state, 'running');
    assert.equal((await inside.get('/servers')).status, 401);
    const left = await inside.post('/dashboard/logout');
    assert.match(cookieOf(left), /=; Max-Age=0; Path=\/dashboard/);
  });

  test('a login never redirects to another site', async () => {
    for (const to of [
      'https://evil.example',
      '//evil.example',
      '/dashboard/../servers',
      '/dashboardx',
      String.raw`/dashboard/\evil`,
      '',
    ]) {
      const answer = await visitor(hub).post('/dashboard/login', { token, to });
      const way = new URL(leadsTo(answer), hub.url);
      assert.equal(way.origin, hub.url, to);
      assert.match(way.pathname, /^\/dashboard(\/|$)|^\/servers$/, to);
    }
  });

  test('a forged cookie, and one of another hub, are refused', async () => {
    await using other = await startHub([], { http: { token, ownerKey: 'x'.repeat(43) } });
    const answer = await visitor(other).post('/dashboard/login', { token });
    const value = pairOf(answer).split('=')[1] ?? '';
    const { port } = new URL(hub.url);
    for (const made of [value, token, '', 'x'.repeat(43)]) {
      const { status } = await visitor(hub, { cookie: `agenthub-${port}=${made}` }).get(
        '/dashboard',
      );
      assert.equal(status, 401);
    }
  });

  test('a client that sends the token in a header needs no cookie', async () => {
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await visitor(hub, headers).get('/dashboard')).status, 200);
    const wrong = { authorization: 'Bearer other' };
    assert.equal((await visitor(hub, wrong).get('/dashboard')).status, 401);
  });

  test('htmx is told to reload the page, which shows the login form', async () => {
    const { headers } = await visitor(hub).get('/dashboard/health-partial', {
      'hx-request': 'true',
    });
    assert.equal(headers['hx-refresh'], 'true');
  });

  test('the assets are available to the login form as well', async () => {
    const { text } = await visitor(hub).get('/dashboard');
    const [, css = ''] = /href="([^"]+\.css)"/.exec(text) ?? [];
    assert.equal((await visitor(hub).get(css)).status, 200);
  });
});

describe('the owner', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub([{ name: 'echo' }]);
  });
  afterAll(() => hub?.[Symbol.asyncDispose]());

  const viewed = [...open, '/dashboard/activity', '/dashboard/caches', '/dashboard/sessions'];
  const owned = [
    '/dashboard/install',
    '/dashboard/install/1',
    '/dashboard/servers/echo/tool?name=echo',
    '/dashboard/servers/echo/remove',
    '/dashboard/servers/echo/log-partial',
  ];

  test('alone administers: others see pages with a login link, without buttons for the owner', async () => {
    for (const path of viewed.filter(path => path !== '/dashboard/events')) {
      const { status, text } = await visitor(hub).get(path);
      assert.equal(status, 200, path);
      assert.doesNotMatch(text, /method="post"/, path);
      if (!path.endsWith('-partial')) assert.match(text, /href="\/dashboard\/login">Log in</, path);
    }
    for (const path of owned) {
      const { status, text } = await visitor(hub).get(path);
      assert.equal(status, 401, path);
      assert.match(text, /<h1>Log in<\/h1>[\s\S]*npx agenthub open/, path);
      assert.doesNotMatch(text, /type="password"/, 'there is no token to give');
    }
    for (const path of actions) assert.equal((await visitor(hub).post(path)).status, 401, path);
    assert.equal(hub.server('echo').status.state, 'running');
    assert.match((await owner(hub).get('/dashboard/servers/echo')).text, /id="stop-echo"/);
  });

  test('logs in by a link, once, with a cookie that survives a restart of the hub', async () => {
    const way = linkOf(hub);
    const answer = await visitor(hub).get(way, {
      'sec-fetch-site': 'cross-site',
      'sec-fetch-mode': 'navigate',
      'sec-fetch-dest': 'document',
    });
    assert.equal(answer.status, 200);
    // After a redirect, a browser that comes from another site would not send the new cookie.
    assert.match(answer.text, /<meta http-equiv="refresh" content="0;url=\/dashboard">/);
    assert.match(
      cookieOf(answer),
      /^agenthub-\d+=administer\.\d+\.[\w-]{43}; Max-Age=2592000; Path=\/dashboard; HttpOnly; SameSite=Strict$/,
    );
    const again = await visitor(hub).get(way);
    assert.equal(again.status, 401);
    assert.match(again.text, /This link was already used/);
    assert.equal(again.headers['set-cookie'], undefined);

    const inside = visitor(hub, { cookie: pairOf(answer) });
    const page = await inside.get('/dashboard/servers/echo?tab=log');
    assert.match(page.text, /id="stop-echo"[\s\S]*<div id="log"/);
    assert.match(page.text, /Log out/);
    for (const path of owned.filter(path => !path.includes('/install')))
      assert.equal((await inside.get(path)).status, 200, path);
    leadsTo(await inside.post('/dashboard/actions/start/echo'));

    await using restarted = await startHub([{ name: 'echo' }]);
    const value = pairOf(answer).split('=')[1] ?? '';
    const cookie = `agenthub-${new URL(restarted.url).port}=${value}`;
    const { text } = await visitor(restarted, { cookie }).get('/dashboard/servers/echo');
    assert.match(text, /id="stop-echo"/);
  });

  test('behind a proxy with TLS gets addresses with https and a cookie that is never sent in clear', async () => {
    await using hub = await startHub([]);
    const behind = visitor(hub, { ...hub.ownerHeaders, 'x-forwarded-proto': 'https' });
    const { host } = new URL(hub.url);
    const { text } = await behind.get('/dashboard/connect');
    assert.ok(text.includes(`https://${host}/mcp`) && !text.includes(`http://${host}/mcp`));
    assert.match(cookieOf(await behind.get(linkOf(hub))), /; Secure$/);
    assert.doesNotMatch(cookieOf(await visitor(hub).get(linkOf(hub))), /Secure/);
  });

  test('cannot be used by pages of other origins, cookie or not', async () => {
    const cookie = pairOf(await visitor(hub).get(linkOf(hub)));
    const { status } = await visitor(hub, { cookie }).post(
      '/dashboard/actions/stop/echo',
      {},
      { origin: 'http://localhost:3000', 'sec-fetch-site': 'same-site' },
    );
    assert.equal(status, 403);
    assert.equal(hub.server('echo').status.state, 'running');
  });

  test('can still use a link that a browser has prefetched', async () => {
    const way = linkOf(hub);
    const ahead = await visitor(hub).get(way, { 'sec-purpose': 'prefetch;prerender' });
    assert.equal(ahead.status, 503);
    assert.equal(ahead.headers['set-cookie'], undefined);
    assert.match(cookieOf(await visitor(hub).get(way)), /administer/);
  });

  test('gets a link with the key, and no other credential gets one', async () => {
    const answer = await visitor(hub, ownerHeaders).post(
      '/login-link',
      { next: '/dashboard' },
      { 'content-type': 'application/json' },
    );
    assert.equal(answer.status, 400, 'it takes no body');
    const { text } = await owner(hub).get('/login-link');
    assert.match(text, /takes POST/);
    assert.equal((await visitor(hub).post('/login-link')).status, 401);
  });

  test('sees the messages of a call, and no other visitor does', async () => {
    await fetch(`${hub.url}/mcp/echo/tools/call`, {
      method: 'POST',
      body: '{"name":"echo","arguments":{"text":"said-in-a-call"}}',
    });
    const way = `/dashboard/activity/${hub.activity.lastId}`;
    const seen = await visitor(hub).get(way);
    assert.equal(seen.status, 200);
    assert.doesNotMatch(seen.text, /said-in-a-call/);
    assert.match(
      seen.text,
      /is shown only to the owner of the hub: <a href="\/dashboard\/login">log in/,
    );
    assert.match((await owner(hub).get(way)).text, /said-in-a-call/);
  });
});

test('with administration off there is no owner, and no login', async () => {
  await using hub = await startHub([{ name: 'echo' }], { http: { administration: 'off' } });
  for (const one of [
    visitor(hub),
    owner(hub),
    visitor(hub, { cookie: pairOf(await visitor(hub).get(linkOf(hub))) }),
  ]) {
    const { status, text } = await one.get('/dashboard/servers/echo?tab=log');
    assert.equal(status, 200);
    assert.doesNotMatch(text, /stop-echo|>Log in</);
    assert.match(text, /The log is not shown: the administration of this hub is off/);
    const install = await one.get('/dashboard/install');
    assert.equal(install.status, 403);
    assert.match(install.text, /The administration of this hub is off/);
    for (const path of actions) assert.equal((await one.post(path)).status, 403, path);
  }
  assert.equal(hub.server('echo').status.state, 'running');
});

test('failed logins delay their address, and are logged', async () => {
  await using hub = await startHub([], { http: { token } });
  const failures = () => hub.logged.filter(({ message }) => message.startsWith('a login failed'));
  for (let count = 0; count < 10; count++)
    await visitor(hub).post('/dashboard/login', { token: `wrong-${count}` });
  const blocked = await visitor(hub).post('/dashboard/login', { token });
  assert.equal(blocked.status, 429);
  assert.match(blocked.headers['retry-after'] ?? '', /^\d\d?$/);
  assert.match(blocked.text, /Too many failed logins/);
  assert.equal((await visitor(hub).get('/dashboard/login?code=wrong')).status, 429);
  assert.equal(failures().length, 10);
  assert.ok(!JSON.stringify(hub.logged).includes('wrong-'));
  // Failed logins of others at the same address do not keep the owner out.
  assert.match(cookieOf(await visitor(hub).get(linkOf(hub))), /administer/);
  const { status } = await owner(hub).post(
    '/config/reload',
    {},
    { 'content-type': 'application/json' },
  );
  assert.notEqual(status, 429);
});
