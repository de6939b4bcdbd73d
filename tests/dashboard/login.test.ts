import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { type DashboardAnswer, type LoginResult, textOf } from '#dashboard';
import { type LoginOptions, loginPages } from '../../hub/dashboard/login.ts';
import { requestOf } from './request.ts';

/** Creates the login pages. Each attempt to log in has this result. */
function open(
  result: LoginResult = { kind: 'in', cookie: 'the-cookie' },
  options: Partial<LoginOptions> = {},
) {
  const tried: string[] = [];
  const keep = (way: string) => (given: string, address: string) => {
    tried.push(`${way} ${given} ${address}`);
    return result;
  };
  const { askToLogIn, handlers } = loginPages(
    { token: 'secret', administration: 'on', ...options },
    { enterByLink: keep('link'), enterByToken: keep('token') },
  );
  return { tried, askToLogIn, handlers };
}

const mainOf = (answer: DashboardAnswer) =>
  'page' in answer ? textOf(answer.page.main) : assert.fail('no page');
const redirectOf = (answer: DashboardAnswer) =>
  'redirect' in answer ? answer.redirect : undefined;

describe('a login by link', () => {
  const query = { code: 'abc' };

  test('sets the cookie on a page that redirects, for a browser that comes from another site', async () => {
    const { handlers, tried } = open();
    const answer = await handlers.loginPage(requestOf({ query }));
    assert.deepEqual(tried, ['link abc 127.0.0.1']);
    assert.equal(answer.cookie, 'the-cookie');
    assert.equal(redirectOf(answer), undefined);
    assert.ok('page' in answer && answer.page.leadsTo === '/dashboard');
  });

  test('that fails shows the reason, and sets no cookie', async () => {
    const wrong = await open({ kind: 'wrong' }).handlers.loginPage(requestOf({ query }));
    assert.deepEqual([wrong.status, wrong.cookie], [401, undefined]);
    assert.match(mainOf(wrong), /This link was already used/);
    const blocked = await open({ kind: 'blocked', waitMs: 1_001 }).handlers.loginPage(
      requestOf({ query }),
    );
    assert.deepEqual(
      [blocked.status, blocked.cookie, blocked.headers],
      [429, undefined, { 'hx-refresh': 'true', 'retry-after': '2' }],
    );
    assert.match(mainOf(blocked), /Too many failed logins/);
    assert.doesNotMatch(mainOf(blocked), /This link/);
  });

  test.each(['prefetch', 'prefetch;prerender', 'prefetch;anonymous-client-ip'])(
    'is not used up by a browser that prefetches it: %s',
    async purpose => {
      const { handlers, tried } = open();
      const answer = await handlers.loginPage(
        requestOf({ query, headers: { 'sec-purpose': purpose } }),
      );
      assert.deepEqual([answer.status, answer.cookie, tried], [503, undefined, []]);
    },
  );

  test('without a code shows a form for the code', async () => {
    const { handlers, tried } = open();
    const answer = await handlers.loginPage(requestOf());
    assert.deepEqual([answer.status, tried], [200, []]);
    assert.match(mainOf(answer), /npx agenthub open/);
  });
});

describe('a login by token', () => {
  test.each([
    ['/dashboard', '/dashboard'],
    ['/dashboard/servers/echo?from=100', '/dashboard/servers/echo?from=100'],
    ['/dashboard?done=start', '/dashboard?done=start'],
    ['/dashboardx', '/dashboard'],
    ['//evil.example/dashboard', '/dashboard'],
    ['https://evil.example/dashboard', '/dashboard'],
    [String.raw`/dashboard/\evil.example`, '/dashboard'],
    ['/dashboard/a\r\nset-cookie: b', '/dashboard'],
    ['/dashboard/ a', '/dashboard'],
    ['', '/dashboard'],
  ])('for the page %j redirects to %s', async (to, expected) => {
    const answer = await open().handlers.login(requestOf({ form: { token: 'secret', to } }));
    assert.deepEqual([redirectOf(answer), answer.cookie], [expected, 'the-cookie']);
  });

  test('redirects to the overview if the form has no page', async () => {
    const { handlers, tried } = open();
    assert.equal(redirectOf(await handlers.login(requestOf())), '/dashboard');
    assert.deepEqual(tried, ['token  127.0.0.1']);
  });

  test('that fails shows the form again, and keeps the page', async () => {
    const form = { token: 'wrong', to: '/dashboard/jobs' };
    const wrong = await open({ kind: 'wrong' }).handlers.login(requestOf({ form }));
    assert.equal(wrong.status, 401);
    assert.match(mainOf(wrong), /name="to" value="\/dashboard\/jobs"/);
    assert.match(mainOf(wrong), /aria-invalid="true"[^]*That is not the token of this hub/);
    const blocked = await open({ kind: 'blocked', waitMs: 60_000 }).handlers.login(
      requestOf({ form }),
    );
    assert.deepEqual([blocked.status, blocked.headers?.['retry-after']], [429, '60']);
    assert.doesNotMatch(mainOf(blocked), /aria-invalid/);
  });
});

test('a logout removes the cookie', async () => {
  assert.deepEqual(await open().handlers.logout(), { redirect: '/dashboard', cookie: '' });
});

test.each<
  readonly [what: string, options: Partial<LoginOptions>, isByLink: boolean, isByToken: boolean]
>([
  ['with a token', {}, true, true],
  ['without a token', { token: undefined }, true, false],
  ['whose administration is off', { administration: 'off' }, false, true],
  ['with neither', { token: undefined, administration: 'off' }, false, false],
])('a hub %s shows the ways to log in', (_what, options, isByLink, isByToken) => {
  const text = mainOf(open(undefined, options).askToLogIn('/dashboard', 401));
  assert.equal(text.includes('npx agenthub open'), isByLink);
  assert.equal(text.includes('The administration of this hub is off'), !isByLink);
  assert.equal(text.includes('type="password"'), isByToken);
});
