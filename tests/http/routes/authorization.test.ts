import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, test } from 'vitest';
import { createAuthorization } from '#access';
import { systemClock } from '#core';
import { createCertificates } from '#helpers/certificates';
import { type HubOptions, createRecordingLog, startHub } from '#helpers/hub';
import { openCallback, programs } from '#helpers/program-login';
import { openScratchClients } from '../../access/scratch.ts';
import { send } from '../../transports/raw.ts';

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const redirect = 'http://127.0.0.1:4000/callback';
const verifier = 'a-verifier-of-43-characters-or-more-as-rfc-7636-says';
const challenge = createHash('sha256').update(verifier).digest('base64url');

async function open(
  config: Parameters<typeof openScratchClients>[0] = { tokens: 'required' },
  options: HubOptions = {},
) {
  const scratch = await openScratchClients(config);
  const clients = await scratch.open();
  let lateMs = 0;
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + lateMs };
  const authorization = createAuthorization(
    { secret: Buffer.alloc(32, 1) },
    {
      clients,
      clock: { ...scratch.clock, monotonic: clock.monotonic },
      log: createRecordingLog().log,
      audit() {},
    },
  );
  const hub = await startHub([{ name: 'echo' }], { ...options, guard: { clients, authorization } });

  async function ask(
    method: string,
    path: string,
    headers: Record<string, string> = {},
    body = '',
  ) {
    const sent = { method, headers, ...(body !== '' && { body }) };
    const answer = await send(`${hub.url}${path}`, sent);
    return { status: answer.status, headers: answer.headers, text: await answer.body() };
  }
  const get = async (path: string, headers?: Record<string, string>) =>
    await ask('GET', path, headers);
  async function register(name = 'Claude Code'): Promise<string> {
    const body = JSON.stringify({ client_name: name, redirect_uris: [redirect] });
    const answer = await ask('POST', '/oauth/register', json, body);
    assert.equal(answer.status, 201, answer.text);
    return JSON.parse(answer.text).client_id;
  }
  const queryOf = (id: string, more: Readonly<Record<string, string>> = {}) =>
    new URLSearchParams({
      client_id: id,
      redirect_uri: redirect,
      response_type: 'code',
      code_challenge: challenge,
      code_challenge_method: 'S256',
      ...more,
    }).toString();

  /** Presses a button on the owner's page. Returns the URL that the page redirects to. */
  async function decide(query: string, decision: 'allow' | 'deny'): Promise<string> {
    const page = await get(`/dashboard/authorize?${query}`, hub.ownerHeaders);
    const [, id = ''] = /name="id" value="([\w-]+)"/.exec(page.text) ?? [];
    const [, name = ''] = /name="name" value="([\w-]*)"/.exec(page.text) ?? [];
    const body = new URLSearchParams({ id, name, decision }).toString();
    const answer = await ask(
      'POST',
      '/dashboard/authorize',
      { ...hub.ownerHeaders, ...form },
      body,
    );
    const [, to = ''] = /content="0;url=([^"]+)"/.exec(answer.text) ?? [];
    return to.replaceAll('&amp;', '&');
  }

  return {
    scratch,
    clients,
    hub,
    ask,
    get,
    register,
    queryOf,
    decide,
    beLate: (ms: number) => void (lateMs += ms),
    async [Symbol.asyncDispose]() {
      await hub[Symbol.asyncDispose]();
      await scratch[Symbol.asyncDispose]();
    },
  };
}

describe('while calls need a token', () => {
  test.each([
    ['GET', '/mcp', '/mcp'],
    ['POST', '/mcp', '/mcp'],
    ['GET', '/mcp/echo', '/mcp/echo'],
    ['POST', '/mcp/echo/tools/list', '/mcp/echo'],
    ['GET', '/sse', '/sse'],
    ['GET', '/sse/echo?a=b', '/sse/echo'],
    ['POST', '/messages?sessionId=1', '/mcp'],
  ])('%s %s says where to log in, in WWW-Authenticate', async (method, path, endpoint) => {
    await using opened = await open();
    const body = method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"ping"}' : '';
    const answer = await opened.ask(method, path, json, body);
    assert.equal(answer.status, 401);
    const metadata = `${opened.hub.url}/.well-known/oauth-protected-resource${endpoint}`;
    assert.equal(answer.headers['www-authenticate'], `Bearer resource_metadata="${metadata}"`);
    const wrong = await opened.ask(method, path, { ...json, authorization: 'Bearer x' }, body);
    assert.equal(
      wrong.headers['www-authenticate'],
      `Bearer error="invalid_token", resource_metadata="${metadata}"`,
    );
    const { resource, authorization_servers: authorities } = JSON.parse(
      (await opened.get(new URL(metadata).pathname)).text,
    );
    assert.deepEqual([resource, authorities], [`${opened.hub.url}${endpoint}`, [opened.hub.url]]);
  });

  test('metadata names the hub as the client reaches it, and is not cached', async () => {
    await using opened = await open(undefined, { http: { allowedHosts: ['hub.home.lan'] } });
    const path = '/.well-known/oauth-authorization-server';
    const issuerFor = async (headers: Record<string, string>) => {
      const answer = await opened.get(path, headers);
      assert.equal(answer.headers['cache-control'], 'no-store');
      return JSON.parse(answer.text).issuer;
    };
    assert.equal(await issuerFor({}), opened.hub.url);
    assert.equal(await issuerFor({ host: 'HUB.home.lan:9' }), 'http://hub.home.lan:9');
    assert.equal(
      await issuerFor({ host: 'hub.home.lan', 'x-forwarded-proto': 'https' }),
      'https://hub.home.lan',
    );
    assert.equal((await opened.get(path, { host: 'evil.example' })).status, 403);
    for (const unknown of ['/servers', '/mcp/echo/tools', '/mcp/%22'])
      assert.equal(
        (await opened.get(`/.well-known/oauth-protected-resource${unknown}`)).status,
        404,
      );
  });

  test('metadata of a hub with TLS says https', async () => {
    using certificates = createCertificates();
    const authority = certificates.createAuthority('home');
    const tls = authority.sign({ alternativeNames: 'DNS:localhost' });
    await using opened = await open(undefined, { http: { host: 'localhost', tls } });
    const ca = await readFile(authority.certFile);
    const ask = async (path: string) => {
      const [answer]: IncomingMessage[] = await once(
        request(`${opened.hub.url}${path}`, { ca, agent: false }).end(),
        'response',
      );
      assert.ok(answer);
      return { challenge: answer.headers['www-authenticate'] ?? '', body: await text(answer) };
    };
    const { port } = new URL(opened.hub.url);
    const { challenge } = await ask('/mcp');
    assert.ok(challenge.includes(`"https://localhost:${port}/.well-known/`), challenge);
    const { body } = await ask('/.well-known/oauth-authorization-server');
    assert.equal(JSON.parse(body).token_endpoint, `https://localhost:${port}/oauth/token`);
  });

  test('routes other than MCP endpoints do not offer a login', async () => {
    await using opened = await open();
    assert.equal((await opened.get('/servers')).headers['www-authenticate'], 'Bearer');
  });

  test('a page of another origin can neither register nor exchange a code', async () => {
    await using opened = await open();
    for (const headers of [{ origin: 'http://localhost:1' }, { 'sec-fetch-site': 'cross-site' }])
      for (const path of ['/oauth/register', '/oauth/token'])
        assert.equal((await opened.ask('POST', path, { ...json, ...headers }, '{}')).status, 403);
  });

  test('a page of an allowed origin can register and exchange, like the MCP inspector', async () => {
    const origin = 'http://localhost:6274';
    await using opened = await open(undefined, { http: { allowedOrigins: [origin] } });
    const registration = JSON.stringify({ redirect_uris: [redirect] });
    const headers = { ...json, origin };
    const registered = await opened.ask('POST', '/oauth/register', headers, registration);
    assert.equal(registered.status, 201);
    const asking = { origin, 'access-control-request-method': 'POST' };
    assert.equal((await opened.ask('OPTIONS', '/oauth/register', asking)).status, 204);
    const exchanged = await opened.ask('POST', '/oauth/token', { ...form, origin }, 'code=x');
    assert.equal(JSON.parse(exchanged.text).error, 'unsupported_grant_type');
    assert.equal(exchanged.headers['access-control-allow-origin'], origin);
    // Only pages of the hub may post the forms of the dashboard.
    const owner = { ...opened.hub.ownerHeaders, ...form, origin };
    assert.match(
      (await opened.ask('POST', '/dashboard/authorize', owner, 'id=x')).text,
      /Content-Type/,
    );
  });

  test.each([
    ['POST', '/oauth/token', json, '{}', 400],
    ['POST', '/oauth/token', form, `code=${'x'.repeat(20_000)}`, 413],
    ['POST', '/oauth/register', form, 'redirect_uris=http://localhost/', 400],
    ['POST', '/oauth/register', json, '{"redirect_uris":["https://evil.example/"]}', 400],
    ['POST', '/oauth/register', json, `{"client_name":"${'x'.repeat(20_000)}"}`, 413],
    ['POST', '/oauth/register', json, '[', 400],
  ])('%s %s with %j is refused', async (method, path, headers, body, status) => {
    await using opened = await open();
    assert.equal((await opened.ask(method, path, headers, body)).status, status);
  });

  test('only the owner sees the consent page and may answer it', async () => {
    await using opened = await open(undefined, { http: { token: 'a-router-token' } });
    const { hub, clients } = opened;
    const query = opened.queryOf(await opened.register());
    const { token = '' } = await clients.create('other');
    const url = `/dashboard/authorize?${query}`;
    for (const headers of [
      {},
      { authorization: 'Bearer a-router-token' },
      { authorization: `Bearer ${token}` },
    ]) {
      const page = await opened.get(url, headers);
      assert.ok([200, 403].includes(page.status), String(page.status));
      assert.match(page.text, /<h1>Log in<\/h1>/);
      assert.ok(!page.text.includes('name="id"'));
      const posted = await opened.ask(
        'POST',
        '/dashboard/authorize',
        { ...headers, ...form },
        'decision=allow&name=me',
      );
      assert.ok([401, 403].includes(posted.status), String(posted.status));
    }
    // A page of another origin sends the owner's cookie, but has no form of the hub.
    const foreign = { ...hub.ownerHeaders, ...form, origin: 'http://localhost:1' };
    const posted = await opened.ask('POST', '/dashboard/authorize', foreign, 'decision=allow');
    assert.match(posted.text, /may not call this hub/);
    const guessed = await opened.ask(
      'POST',
      '/dashboard/authorize',
      { ...hub.ownerHeaders, ...form },
      'id=guessed&decision=allow&name=me',
    );
    assert.equal(guessed.status, 400);
    assert.deepEqual(
      clients.list().map(({ name }) => name),
      ['other'],
    );
  });

  test.each(Object.keys(programs))('a login expires, and can be repeated: %s', async which => {
    await using opened = await open();
    await using callback = await openCallback();
    const program = programs[which]?.(opened.hub.url, callback.url, 'Claude Code');
    assert.ok(program);
    const logIn = async () => {
      await assert.rejects(program.use(), /Unauthorized/);
      const { search } = new URL(program.provider.opened());
      await program.finish(new URL(await opened.decide(search.slice(1), 'allow')).searchParams);
      await program.use();
    };
    await logIn();
    opened.scratch.pass(90 * 86_400_000);
    program.provider.wantsBrowser();
    await logIn();
    assert.deepEqual(
      opened.clients.list().map(({ name }) => name),
      ['claude-code'],
    );
  });

  test('a code can be exchanged within a minute, and responses are not cached', async () => {
    await using opened = await open();
    const id = await opened.register();
    const exchange = async () => {
      const back = new URL(await opened.decide(opened.queryOf(id), 'allow'));
      return {
        grant_type: 'authorization_code',
        code: back.searchParams.get('code') ?? '',
        redirect_uri: redirect,
        client_id: id,
        code_verifier: verifier,
      };
    };
    const send = async (fields: Record<string, string>) =>
      await opened.ask('POST', '/oauth/token', form, new URLSearchParams(fields).toString());
    const late = await exchange();
    opened.beLate(60_000);
    assert.equal((await send(late)).status, 400);
    const answer = await send(await exchange());
    assert.deepEqual([answer.status, answer.headers['cache-control']], [200, 'no-store']);
    const { access_token: token, ...rest } = JSON.parse(answer.text);
    assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 7_776_000 });
    const bearer = { authorization: `Bearer ${token}` };
    assert.equal((await opened.get('/servers', bearer)).status, 200);
    assert.equal((await opened.ask('POST', '/servers/echo/restart', bearer)).status, 401);
    assert.equal((await send({ ...(await exchange()), client_id: 'forged' })).status, 401);
  });
});

test('the owner revokes the token of a login by two forms, without JavaScript', async () => {
  await using opened = await open();
  const owner = opened.hub.ownerHeaders;
  const { token = '' } = await opened.clients.create('claude-code');
  const bearer = { authorization: `Bearer ${token}` };
  const access = await opened.get('/dashboard/access', owner);
  const [, asking = ''] = /href="([^"]+\/revoke)"/.exec(access.text) ?? [];
  const [, action = ''] =
    /action="([^"]+token-revoke[^"]+)"/.exec((await opened.get(asking, owner)).text) ?? [];
  assert.equal((await opened.get('/servers', bearer)).status, 200);
  assert.equal((await opened.ask('POST', action, { ...bearer, ...form }, 'a=b')).status, 401);
  assert.equal((await opened.get('/servers', bearer)).status, 200);
  const revoked = await opened.ask('POST', action, { ...owner, ...form }, 'a=b');
  assert.equal(revoked.status, 303);
  assert.match(
    (await opened.get(String(revoked.headers['location']), owner)).text,
    /Revoked the token of claude-code/,
  );
  assert.equal((await opened.get('/servers', bearer)).status, 401);
  assert.equal((await opened.get(asking, owner)).status, 404);
});

test('wrong codes are slowed down for their address, and the right one can be exchanged', async () => {
  await using opened = await open();
  const id = await opened.register();
  const send = async (code: string) => {
    const fields = {
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirect,
      client_id: id,
      code_verifier: verifier,
    };
    const body = new URLSearchParams(fields).toString();
    return await opened.ask('POST', '/oauth/token', form, body);
  };
  for (let count = 0; count < 10; count++) assert.equal((await send(`wrong-${count}`)).status, 400);
  const slowed = await send('wrong');
  assert.equal(slowed.status, 429);
  assert.equal(JSON.parse(slowed.text).error, 'invalid_grant');
  assert.ok(Number(slowed.headers['retry-after']) <= 60);
  const back = new URL(await opened.decide(opened.queryOf(id), 'allow'));
  assert.equal((await send(back.searchParams.get('code') ?? '')).status, 200);
});

describe('a hub without logins', () => {
  const paths = [
    ['GET', '/.well-known/oauth-protected-resource'],
    ['GET', '/.well-known/oauth-protected-resource/mcp'],
    ['GET', '/.well-known/oauth-authorization-server'],
    ['POST', '/oauth/register'],
    ['POST', '/oauth/token'],
  ] as const;

  test('has no login paths while calls need no token', async () => {
    await using opened = await open({});
    const bodies = await Promise.all(
      paths.map(async ([method, path]) => {
        const answer = await opened.ask(method, path);
        assert.equal(answer.status, 404);
        return answer.text;
      }),
    );
    const unknown = await opened.get('/.well-known/anything');
    assert.equal(bodies[0], unknown.text.replace('anything', 'oauth-protected-resource'));
    const page = await opened.get('/dashboard/authorize', opened.hub.ownerHeaders);
    assert.equal(page.status, 404);
  });

  test('has no login paths if administration is off, and mentions none in headers', async () => {
    await using opened = await open(undefined, { http: { administration: 'off' } });
    for (const [method, path] of paths) assert.equal((await opened.ask(method, path)).status, 404);
    assert.equal((await opened.get('/mcp')).headers['www-authenticate'], 'Bearer');
  });

  test('offers logins after a reload that requires tokens', async () => {
    await using opened = await open({});
    opened.scratch.set({ tokens: 'required' });
    await opened.clients.refresh();
    assert.equal((await opened.get('/.well-known/oauth-authorization-server')).status, 200);
  });
});
