import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { digestOf } from '#access';
import type { Principal } from '#policy';
import {
  type GuardNeeds,
  type GuardOptions,
  type Scope,
  createGuard,
} from '../../hub/http/guard.ts';
import { type GuardedRequest, credentialsOf } from '../../hub/http/guard.ts';

const defaults: GuardOptions = {
  host: '127.0.0.1',
  allowedHosts: ['Hub.example'],
  allowedOrigins: ['https://notes.example'],
  token: undefined,
  ownerKey: undefined,
  administration: 'on',
};

type Asked = Partial<GuardedRequest> & { readonly scope?: Scope };

type AskedOf = readonly [headers: GuardedRequest['headers'], asked?: Asked];

/** Creates a guard. Returns a function that returns its refusal of a request, by default `GET /health`. */
function asking(options: Partial<GuardOptions> = {}, needs: Partial<GuardNeeds> = {}) {
  const decide = deciding(options, needs);
  return (...asked: AskedOf) => decide(...asked).refusal;
}

/** Creates a guard. Returns a function that returns its whole decision about a request, by default `GET /health`. */
function deciding(options: Partial<GuardOptions> = {}, needs: Partial<GuardNeeds> = {}) {
  const guard = createGuard({ ...defaults, ...options }, needs);
  return (...[headers, { scope = 'call', ...rest } = {}]: AskedOf) =>
    guard.check(
      {
        method: 'GET',
        target: '/health',
        headers,
        hostCount: headers.host === undefined ? 0 : 1,
        credentials: credentialsOf(headers),
        peer: { kind: 'unchecked' },
        takesForms: false,
        ...rest,
      },
      scope,
    );
}

const ask = asking();
const host = 'localhost';
const administer: Asked = { scope: 'administer' };

describe('the guard', () => {
  const hosts: readonly (readonly [string | undefined, boolean])[] = [
    ['localhost', true],
    ['localhost:9090', true],
    ['LocalHost:9090', true],
    ['127.0.0.1:9090', true],
    ['127.0.0.2', true],
    ['127.200.3.4:80', true],
    ['[::1]:9090', true],
    ['[::1]', true],
    ['hub.example', true],
    ['HUB.EXAMPLE:443', true],
    [undefined, false],
    ['', false],
    ['evil.example', false],
    ['localhost.evil.example', false],
    ['127.0.0.1.nip.io', false],
    ['127.0.0.1.evil.example:9090', false],
    ['evil.example:127.0.0.1', false],
    ['localhost@evil.example', false],
    ['evil.example#localhost', false],
    ['localhost:9090:9090', false],
    ['localhost:', false],
    ['localhost.', false],
    ['::1', false],
    ['[::1', false],
    ['[::ffff:127.0.0.1]', false],
    ['127.1', false],
    ['127.0.0.256', false],
    ['127.0.0.1.5', false],
    ['128.0.0.1', false],
    ['0.0.0.0', false],
    ['192.168.1.5:9090', false],
    ['not-hub.example', false],
  ];
  for (const [host, allowed] of hosts)
    test(`${allowed ? 'admits' : 'refuses'} the Host ${String(host)}`, () => {
      const refusal = ask(host === undefined ? {} : { host });
      assert.equal(refusal?.status, allowed ? undefined : 403);
      if (!allowed) assert.match(refusal?.message ?? '', /ROUTER_ALLOWED_HOSTS/);
    });

  const origins: readonly (readonly [string, boolean])[] = [
    ['http://localhost:9090', true],
    ['https://localhost:9090', true],
    ['http://LOCALHOST:9090', true],
    ['http://localhost', false],
    ['http://localhost:3000', false],
    ['http://127.0.0.1:9090', false],
    ['http://[::1]:9090', false],
    ['https://notes.example', true],
    ['HTTPS://Notes.example', true],
    ['http://notes.example', false],
    ['null', false],
    ['', false],
    ['https://evil.example', false],
    ['http://localhost:9090.evil.example', false],
    ['http://localhost:9090@evil.example', false],
    ['http://evil.example/localhost:9090', false],
    ['file://', false],
    ['file://localhost:9090', false],
    ['chrome-extension://abc', false],
    ['http://localhost:9090/', false],
  ];
  for (const [origin, allowed] of origins)
    test(`${allowed ? 'admits' : 'refuses'} the Origin ${JSON.stringify(origin)}`, () => {
      const refusal = ask({ host: 'localhost:9090', origin });
      assert.equal(refusal?.status, allowed ? undefined : 403);
      if (!allowed) assert.match(refusal?.message ?? '', /ROUTER_ALLOWED_ORIGINS/);
    });

  /**
   * Metadata that a browser sends with a request without Origin: site, mode and destination; true if it is admitted.
   */
  const pages: readonly (readonly [string, string, string, boolean])[] = [
    ['cross-site', 'no-cors', 'image', false],
    ['cross-site', 'no-cors', 'empty', false],
    ['cross-site', 'navigate', 'iframe', false],
    ['cross-site', 'navigate', 'document', true],
    ['same-site', 'no-cors', 'image', false],
    ['same-site', 'websocket', 'websocket', false],
    ['same-site', 'navigate', 'document', true],
    ['same-origin', 'cors', 'empty', true],
    ['none', 'navigate', 'document', true],
  ];
  for (const [site, mode, dest, allowed] of pages)
    test(`${allowed ? 'admits' : 'refuses'} a page that is ${site}, by ${mode}, for: ${dest}`, () => {
      const fetched = { 'sec-fetch-site': site, 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
      const refusal = ask({ host, ...fetched });
      assert.equal(refusal?.status, allowed ? undefined : 403);
      if (!allowed) assert.match(refusal?.message ?? '', /ROUTER_ALLOWED_ORIGINS/);
      assert.equal(ask({ host, origin: 'https://notes.example', ...fetched }), undefined);
      const posted = ask({ host, ...fetched }, { method: 'POST' });
      const isOwn = site === 'same-origin' || site === 'none';
      assert.equal(posted?.status, isOwn ? undefined : 403, 'a form is no link');
    });

  const types: readonly (readonly [string | undefined, boolean])[] = [
    ['application/json', true],
    ['Application/JSON; charset=utf-8', true],
    ['text/plain', false],
    ['text/plain; application/json', false],
    ['application/jsonp', false],
    ['application/x-www-form-urlencoded', false],
    [undefined, false],
  ];
  for (const [type, allowed] of types)
    test(`${allowed ? 'admits' : 'refuses'} the type ${type} of a page`, () => {
      const sent = { host, ...(type !== undefined && { 'content-type': type }) };
      const post = { method: 'POST' };
      for (const origin of [`http://${host}`, 'https://notes.example'])
        assert.equal(ask({ ...sent, origin }, post)?.status, allowed ? undefined : 415, origin);
      assert.equal(ask(sent, post), undefined, 'which is no page');
      const form = { ...post, takesForms: 'own' as const };
      assert.equal(ask({ ...sent, origin: `http://${host}` }, form), undefined);
      const foreign = ask({ ...sent, origin: 'https://notes.example' }, form);
      assert.equal(foreign?.status, allowed ? undefined : 415, 'forms are for own pages');
    });

  const targets: readonly (readonly [string, boolean])[] = [
    ['/mcp', true],
    ['//evil.example/mcp', true],
    ['*', true],
    ['http://localhost:9090/mcp', true],
    ['HTTP://LOCALHOST/mcp', true],
    ['http://evil.example/mcp', false],
    ['https://evil.example', false],
    ['http://localhost@evil.example/mcp', false],
    ['http:///mcp', false],
    ['ftp:evil.example', false],
  ];
  for (const [target, allowed] of targets)
    test(`${allowed ? 'admits' : 'refuses'} the request target ${target}`, () => {
      assert.equal(ask({ host }, { target })?.status, allowed ? undefined : 400);
    });

  test('refuses two Host headers, whatever their values', () => {
    assert.equal(ask({ host }, { hostCount: 2 })?.status, 400);
  });

  const listening: readonly (readonly [string, string, boolean])[] = [
    ['192.0.2.2', '192.0.2.2:9090', true],
    ['192.0.2.2', '192.0.2.3:9090', false],
    ['hub.lan', 'Hub.LAN', true],
    ['2001:db8::5', '[2001:db8::5]:9090', true],
    ['2001:DB8:0:0::5', '[2001:db8::5]', true],
    ['fe80::1%eth0', '[fe80::1]:9090', true],
    ['0.0.0.0', '0.0.0.0:9090', false],
    ['::', '[::]:9090', false],
    ['0.0.0.0', 'localhost:9090', true],
  ];
  for (const [host, asked, allowed] of listening)
    test(`of a hub that listens on ${host} ${allowed ? 'admits' : 'refuses'} ${asked}`, () => {
      const own = asking({ host });
      assert.equal(own({ host: asked })?.status, allowed ? undefined : 403);
    });

  test('requires the token of every call if there is one', () => {
    const locked = asking({ token: 'secret' });
    assert.equal(locked({ host })?.status, 401);
    for (const authorization of ['', 'secret', 'Bearer', 'Bearer ', 'Bearer secre', 'Basic secret'])
      assert.equal(locked({ host, authorization })?.status, 401, authorization);
    for (const authorization of ['Bearer secret', 'bearer secret', 'BEARER  secret'])
      assert.equal(locked({ host, authorization }), undefined, authorization);
    const rebound = locked({ host: 'evil.example', authorization: 'Bearer secret' });
    assert.equal(rebound?.status, 403);
  });

  test('ignores a token if calls need none', () => {
    assert.equal(ask({ host, authorization: 'Bearer outdated' }), undefined);
  });

  test("gives administration to callers with the owner's key or a login, and to no other", () => {
    const guard = asking(
      { token: 'secret', ownerKey: 'key' },
      { isLoggedIn: ({ cookie }) => cookie === 'in' },
    );
    const scope = 'administer';
    for (const authorization of [undefined, 'Bearer secret', 'Bearer ke', 'Basic key']) {
      const sent = { host, ...(authorization !== undefined && { authorization }) };
      assert.equal(guard(sent, { scope })?.status, 401, authorization);
    }
    for (const sent of [{ authorization: 'bearer key' }, { cookie: 'in' }]) {
      assert.equal(guard({ host, ...sent }, { scope }), undefined);
      assert.equal(guard({ host, ...sent }), undefined, 'and make calls');
    }
    assert.equal(asking()({ host, authorization: 'Bearer undefined' }, { scope })?.status, 401);
  });

  test('refuses a login cookie from another user, whose browser may have received it', () => {
    const guard = asking({ ownerKey: 'key' }, { isLoggedIn: () => true });
    const peer = { kind: 'refused', why: 'the connection is of user 1001' } as const;
    const refused = guard({ host, cookie: 'in' }, { scope: 'administer', peer });
    assert.equal(refused?.status, 403);
    assert.match(refused.message, /of user 1001.*a login is for browsers of the hub's own user/);
    const authorization = 'Bearer key';
    assert.equal(guard({ host, authorization }, { scope: 'administer', peer }), undefined);
  });

  test('refuses administration to everyone if it is off, and names the setting', () => {
    const closed = asking({ ownerKey: 'key', administration: 'off' }, { isLoggedIn: () => true });
    const refused = closed({ host, authorization: 'Bearer key' }, { scope: 'administer' });
    assert.equal(refused?.status, 403);
    assert.match(refused.message, /administration is "off"/);
    assert.equal(closed({ host }), undefined, 'calls go on');
  });

  test("refuses calls of another user without the token and the owner's key", () => {
    const peer = { kind: 'refused', why: 'the connection is of user 1001' } as const;
    const refused = asking()({ host, authorization: 'Bearer any' }, { peer });
    assert.equal(refused?.status, 403);
    assert.match(refused.message, /of user 1001.*ROUTER_TOKEN/);
    const authorization = 'Bearer secret';
    for (const options of [{ token: 'secret' }, { ownerKey: 'secret' }])
      assert.equal(asking(options)({ host, authorization }, { peer }), undefined);
    assert.equal(asking()({ host }, { peer: { kind: 'same-user' } }), undefined);
  });

  test('requires a token of calls from the first request after it is needed, until it is no longer', () => {
    let callToken: ReturnType<GuardNeeds['callToken']>;
    const guard = asking({}, { callToken: () => callToken });
    const authorization = 'Bearer one';
    assert.equal(guard({ host }), undefined);
    callToken = { token: 'one', why: 'a server has a network' };
    assert.match(guard({ host })?.message ?? '', /a server has a network.*agenthub connect/);
    assert.equal(guard({ host, authorization }), undefined);
    callToken = { ...callToken, token: 'two' };
    assert.equal(guard({ host, authorization })?.status, 401);
    callToken = undefined;
    assert.equal(guard({ host }), undefined);
    const set = asking({ token: 'set' }, { callToken: () => ({ token: 'one', why: '' }) });
    assert.equal(set({ host, authorization })?.status, 401, 'ROUTER_TOKEN is the only one then');
  });
});

describe('the principal of', () => {
  const key = 'Bearer key';
  const secret = 'Bearer secret';
  const login = { cookie: 'in' };
  const isLoggedIn: GuardNeeds['isLoggedIn'] = ({ cookie }) => cookie === 'in';
  const otherUser = { kind: 'refused', why: 'the connection is of user 1001' } as const;
  const open: Partial<GuardOptions> = { ownerKey: 'key' };
  const locked: Partial<GuardOptions> = { ownerKey: 'key', token: 'secret' };
  const made: Partial<GuardNeeds> = { callToken: () => ({ token: 'secret', why: 'so' }) };

  type Row = readonly [
    what: string,
    name: string,
    mayAdminister: boolean,
    headers: GuardedRequest['headers'],
    options: Partial<GuardOptions>,
    asked?: Asked & { readonly needs?: Partial<GuardNeeds> },
  ];
  const rows: readonly Row[] = [
    ['an open call', 'local', false, {}, open],
    ['an open call with any token', 'local', false, { authorization: secret }, open],
    ["the owner's key on an open hub", 'owner', true, { authorization: key }, open],
    ["the owner's key beside a token", 'owner', true, { authorization: key }, locked],
    ['ROUTER_TOKEN', 'token', false, { authorization: secret }, locked],
    ['the made token', 'token', false, { authorization: secret }, open, { needs: made }],
    ['a login on an open hub', 'owner', true, login, open],
    ['a login beside a token', 'owner', true, login, locked],
    ["another user's login beside a token", 'token', false, login, locked, { peer: otherUser }],
    ["administration by the owner's key", 'owner', true, { authorization: key }, open, administer],
    ['administration by a login', 'owner', true, login, open, administer],
    [
      "the owner's key where administration is off",
      'owner',
      false,
      { authorization: key },
      { ...open, administration: 'off' },
    ],
  ];
  for (const [what, name, mayAdminister, headers, options, asked = {}] of rows)
    test(`${what}: ${name}, who ${mayAdminister ? 'may' : 'may not'} administer`, () => {
      const { needs, ...rest } = asked;
      const decide = deciding(options, { isLoggedIn, ...needs });
      const { principal } = decide({ host, ...headers }, rest);
      assert.deepEqual(principal, {
        kind: 'local',
        name,
        grants: { administer: mayAdminister },
      });
      assert.equal(decide({ host, ...headers }, rest).principal, principal, 'it is one object');
      // The same request may administer exactly if its principal has that grant.
      const { refusal } = decide({ host, ...headers }, { ...rest, scope: 'administer' });
      assert.equal(refusal === undefined, mayAdminister);
    });

  test('the made token stays the same when calls no longer need it, so that its sessions continue', () => {
    let callToken: ReturnType<GuardNeeds['callToken']> = { token: 'secret', why: 'so' };
    const decide = deciding({}, { callToken: () => callToken });
    const authorization = secret;
    const { principal } = decide({ host, authorization });
    callToken = undefined;
    assert.equal(decide({ host, authorization }).principal, principal);
    assert.equal(decide({ host }).principal?.name, 'local');
  });

  test('a refused request is undefined', () => {
    const { principal, refusal } = deciding(locked)({ host });
    assert.deepEqual([principal, refusal?.status], [undefined, 401]);
  });

  describe('a named client', () => {
    const ofName = (name: string, administer = false): Principal => ({
      kind: 'client',
      name,
      grants: { administer },
    });
    const [cursor, admin] = [ofName('cursor'), ofName('admin', true)];
    const tokens = new Map([
      ['cursor-token', { name: 'cursor', principal: cursor }],
      ['admin-token', { name: 'admin', principal: admin }],
      ['old-token', { name: 'cursor', principal: undefined }],
    ]);
    const clients: NonNullable<GuardNeeds['clients']> = {
      isRequired: false,
      find: ({ digest }) => [...tokens].find(([token]) => digestOf(token).equals(digest))?.[1],
      principalOf: name => [cursor, admin].find(one => one.name === name),
    };
    const certificate = (name: string) =>
      ({ peer: { kind: 'unchecked', certificate: name } }) as const;
    type ByName = readonly [
      what: string,
      token: string | undefined,
      asked: Asked,
      expected: Principal['name'] | number,
    ];
    const byName: readonly ByName[] = [
      ['its token', 'cursor-token', {}, 'cursor'],
      ['its token, of another user', 'cursor-token', { peer: otherUser }, 'cursor'],
      ['a revoked token', 'old-token', {}, 401],
      ['a revoked token, for administration', 'old-token', administer, 401],
      ['its token, for administration', 'cursor-token', administer, 401],
      ['the token of one that administers', 'admin-token', administer, 'admin'],
      ['its certificate', undefined, certificate('cursor'), 'cursor'],
      ['a certificate of no client in the config', undefined, certificate('ci'), 'ci'],
      ['its certificate and its token', 'cursor-token', certificate('cursor'), 'cursor'],
      ['its certificate and the token of another', 'admin-token', certificate('cursor'), 403],
      ['its certificate and a revoked token', 'old-token', certificate('cursor'), 401],
      [
        'its certificate and the token of one that administers, for administration',
        'admin-token',
        { ...administer, ...certificate('cursor') },
        403,
      ],
      [
        'the certificate of one that administers',
        undefined,
        { ...administer, ...certificate('admin') },
        'admin',
      ],
    ];
    test.each(byName)('is identified by %s', (_what, token, asked, expected) => {
      const decide = deciding(open, { clients });
      const headers = { host, ...(token !== undefined && { authorization: `Bearer ${token}` }) };
      const { principal, refusal } = decide(headers, asked);
      assert.equal(principal?.name ?? refusal?.status, expected);
      if (principal && principal.name !== 'ci')
        assert.equal(decide(headers, asked).principal, principal);
    });

    test('may not administer if administration is off', () => {
      const decide = deciding({ ...open, administration: 'off' }, { clients });
      assert.equal(
        decide({ host, authorization: 'Bearer admin-token' }, administer).refusal?.status,
        403,
      );
    });

    test('gets a hint how to get a token if tokens are required', () => {
      const decide = deciding(open, { clients: { ...clients, isRequired: true } });
      for (const headers of [{ host }, { host, authorization: 'Bearer other' }]) {
        const { refusal } = decide(headers);
        assert.equal(refusal?.status, 401);
        assert.match(refusal.message, /agenthub connect.*agenthub token create NAME/);
      }
      assert.equal(decide({ host, authorization: key }).principal?.name, 'owner');
    });
  });
});
