import assert from 'node:assert/strict';
import { afterAll, beforeAll, describe, test } from 'vitest';
import { type TestHub, startHub } from '#helpers/hub';
import { leadsTo, visitor } from './scene.ts';

const token = 'the-token-of-this-hub';
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
  afterAll(() => hub[Symbol.asyncDispose]());

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

  test('is the only kind of body that actions take', async () => {
    const { status } = await visitor(hub).post(
      '/dashboard/actions/stop/echo',
      {},
      { 'content-type': 'application/json' },
    );
    assert.equal(status, 415);
    assert.equal(hub.server('echo').status.state, 'running');
  });

  test('that is longer than forms are is refused', async () => {
    const { status } = await visitor(hub).post('/dashboard/install', { env: 'x'.repeat(2 ** 20) });
    assert.equal(status, 413);
  });

  test('is read by no other route of the hub', async () => {
    const { status } = await visitor(hub).post('/servers/echo/stop', { a: 'b' });
    assert.equal(status, 400);
  });
});

describe('with a token', () => {
  let hub: TestHub;
  beforeAll(async () => {
    hub = await startHub([{ name: 'echo' }], { http: { token } });
  });
  afterAll(() => hub[Symbol.asyncDispose]());

  const cookieOf = (headers: { readonly 'set-cookie'?: string[] | undefined }) =>
    headers['set-cookie']?.[0] ?? assert.fail('no cookie was set');

  test('each page answers 401 with a form, and nothing of the hub', async () => {
    for (const path of open) {
      const { status, text } = await visitor(hub).get(path);
      assert.equal(status, 401, path);
      assert.match(text, /<h1>Log in<\/h1>[\s\S]*type="password"/);
      assert.ok(!text.includes('echo</a>'), path);
    }
    for (const path of actions) assert.equal((await visitor(hub).post(path)).status, 401, path);
    assert.equal(hub.server('echo').status.state, 'running');
    assert.equal((await visitor(hub).get('/health')).status, 401);
  });

  test('the form says when the token is another one', async () => {
    for (const wrong of ['', 'other', `${token}x`]) {
      const { status, text, headers } = await visitor(hub).post('/dashboard/login', {
        token: wrong,
      });
      assert.equal(status, 401);
      assert.match(text, /That is not the token of this hub\./);
      assert.equal(headers['set-cookie'], undefined);
    }
  });

  test('the right one leads back to the page, with a cookie that does not hold it', async () => {
    const answer = await visitor(hub).post('/dashboard/login', {
      token,
      to: '/dashboard/servers/echo?from=1',
    });
    assert.equal(leadsTo(answer), '/dashboard/servers/echo?from=1');
    const cookie = cookieOf(answer.headers);
    assert.match(cookie, /^agenthub-\d+=[\w-]{43}; Path=\/dashboard; HttpOnly; SameSite=Strict$/);
    assert.ok(!cookie.includes(token));
    const [pair = ''] = cookie.split(';');
    const inside = visitor(hub, { cookie: `other=1; ${pair}` });
    assert.equal((await inside.get('/dashboard')).status, 200);
    leadsTo(await inside.post('/dashboard/actions/start/echo'));
    // It opens the dashboard, and nothing else.
    assert.equal((await inside.get('/servers')).status, 401);
    const left = await inside.post('/dashboard/logout');
    assert.match(cookieOf(left.headers), /=; Max-Age=0; Path=\/dashboard/);
  });

  test('nobody is led elsewhere after the login', async () => {
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

  test('a made-up cookie, and that of another start of the hub, open nothing', async () => {
    await using other = await startHub([], { http: { token } });
    const answer = await visitor(other).post('/dashboard/login', { token });
    const value = cookieOf(answer.headers).split(/[=;]/)[1] ?? '';
    const { port } = new URL(hub.url);
    for (const made of [value, token, '', 'x'.repeat(43)]) {
      const { status } = await visitor(hub, { cookie: `agenthub-${port}=${made}` }).get(
        '/dashboard',
      );
      assert.equal(status, 401);
    }
  });

  test('who sends it as other clients do needs no cookie', async () => {
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await visitor(hub, headers).get('/dashboard')).status, 200);
    const wrong = { authorization: 'Bearer other' };
    assert.equal((await visitor(hub, wrong).get('/dashboard')).status, 401);
  });

  test('htmx is told to load the page again, which asks for it', async () => {
    const { headers } = await visitor(hub).get('/dashboard/health-partial', {
      'hx-request': 'true',
    });
    assert.equal(headers['hx-refresh'], 'true');
  });

  test('the files that pages load are there for the form as well', async () => {
    const { text } = await visitor(hub).get('/dashboard');
    const [, css = ''] = /href="([^"]+\.css)"/.exec(text) ?? [];
    assert.equal((await visitor(hub).get(css)).status, 200);
  });
});
