import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { afterAll, describe, test } from 'vitest';
import { WebSocket } from 'ws';
import { type Certificate, createCertificates, readCertificate } from '#helpers/certificates';
import { type Fixture, type HubOptions, type TestHub, startHub } from '#helpers/hub';
import type { Principal } from '#policy';
import { clientNameIn, readAuthorities } from '../../hub/http/client-certificates.ts';

const minute = 60_000;
const fromNow = (ms: number) => new Date(Date.now() + ms);

const certificates = createCertificates();
afterAll(() => certificates[Symbol.dispose]());
const authority = certificates.createAuthority('home');
const second = certificates.createAuthority('second');
const foreign = certificates.createAuthority('foreign');
const hubCertificate = authority.sign({ alternativeNames: 'DNS:localhost' });
const cursor = authority.sign({ alternativeNames: 'DNS:cursor.home.lan' });
const ca = readFileSync(authority.certFile, 'utf8');
const authoritiesFile = join(certificates.folder, 'authorities.pem');
writeFileSync(authoritiesFile, `two of them\n${ca}\n${readFileSync(second.certFile, 'utf8')}`);

async function startSecure(
  isRequired: boolean,
  options: HubOptions = {},
  servers: readonly Fixture[] = [{ name: 'echo' }],
) {
  const served: Principal[] = [];
  const hub = await startHub(servers, {
    ...options,
    http: {
      host: 'localhost',
      ...options.http,
      tls: { ...hubCertificate, clients: { caFile: authoritiesFile, isRequired } },
    },
    observer: ({ principal }) => void served.push(principal),
  });
  return { hub, served, [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose]() };
}

type Presenting = { readonly certificate?: Certificate; readonly token?: string };

const tlsOf = ({ certificate }: Presenting) => ({
  ca,
  ...(certificate && readCertificate(certificate)),
});
const headersOf = ({ token }: Presenting): Record<string, string> =>
  token === undefined ? {} : { authorization: `Bearer ${token}` };

type Sent = { readonly method?: string; readonly headers: Headers; readonly body?: string };

/** Sends a request over HTTPS on a connection of its own. */
async function send(url: URL, presenting: Presenting, { body, headers, method = 'GET' }: Sent) {
  const sent = { method, headers: Object.fromEntries(headers) };
  const outgoing = request(url, { ...sent, ...tlsOf(presenting), agent: false });
  outgoing.end(body);
  const [answer]: IncomingMessage[] = await once(outgoing, 'response');
  assert.ok(answer);
  let text = '';
  for await (const chunk of answer) text += String(chunk);
  return { status: answer.statusCode ?? 0, headers: answer.headers, text };
}

const ask = (hub: TestHub, presenting: Presenting, path = '/health', method = 'GET') =>
  send(new URL(path, hub.url), presenting, { method, headers: new Headers(headersOf(presenting)) });

/** Initializes a session of the official SDK over HTTPS, and calls a tool. */
async function callBySdk(hub: TestHub, presenting: Presenting): Promise<void> {
  const client = new Client({ name: 'certified', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL('/mcp', hub.url), {
    requestInit: { headers: headersOf(presenting) },
    async fetch(url, { body, headers, method = 'GET' } = {}) {
      if (method === 'GET') return new Response(null, { status: 405 });
      const sent = typeof body === 'string' ? { body } : {};
      const answer = await send(new URL(url), presenting, {
        method,
        headers: new Headers(headers),
        ...sent,
      });
      const own = Object.entries(answer.headers).map(([name, value]) => [name, String(value)]);
      return new Response(answer.text || null, {
        status: answer.status,
        headers: Object.fromEntries(own),
      });
    },
  });
  try {
    await client.connect(transport);
    await client.callTool({ name: 'echo_echo', arguments: { text: 'x' } });
  } finally {
    await client.close();
  }
}

/** Opens a WebSocket. Returns `open`, or the status and text of the refusal. */
async function openSocket(hub: TestHub, presenting: Presenting): Promise<string> {
  const ws = new WebSocket(`${hub.url.replace('https', 'wss')}/mcp`, ['mcp'], {
    ...tlsOf(presenting),
    headers: headersOf(presenting),
  });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  ws.once('open', () => {
    ws.send(
      '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"w","version":"1"}}}',
    );
  });
  ws.once('message', () => resolve('open'));
  ws.once('error', reject);
  ws.on('unexpected-response', (_request, response) => {
    let text = '';
    response.on('data', (chunk: Buffer) => (text += chunk.toString()));
    response.on('end', () => resolve(`${response.statusCode} ${text}`));
  });
  try {
    return await promise;
  } finally {
    ws.terminate();
  }
}

/** Certificates that are refused in both modes (required and requested), and the reason. */
const refusedOnes: Readonly<Record<string, readonly [() => Certificate, RegExp]>> = {
  foreign: [
    () => foreign.sign({ alternativeNames: 'DNS:cursor' }),
    /is not signed by an authority in ROUTER_TLS_CLIENT_CA/,
  ],
  'self-signed': [() => foreign, /CN=foreign\\?" is not signed by an authority/],
  'long expired': [
    () =>
      authority.sign({
        commonName: 'cursor',
        from: fromNow(-99 * minute),
        to: fromNow(-10 * minute),
      }),
    /CN=cursor\\?" expired at \d{4}-.*Z, earlier than the hub's clock says \(\d{4}-.*Z\)\. Renew the certificate/,
  ],
  'just expired': [
    () =>
      authority.sign({
        commonName: 'cursor',
        from: fromNow(-99 * minute),
        to: fromNow(-4 * minute),
      }),
    /expired at .*less than five minutes earlier than the hub's clock says \(.*\): the clocks of the machines may differ\. Set them, or renew/,
  ],
  'not yet valid': [
    () => authority.sign({ commonName: 'cursor', from: fromNow(4 * minute) }),
    /is valid only from .*less than five minutes later than the hub's clock says \(.*\): the clocks of the machines may differ/,
  ],
  'for later': [
    () => authority.sign({ commonName: 'cursor', from: fromNow(30 * minute) }),
    /is valid only from \d{4}-.*Z, later than the hub's clock says \(\d{4}-.*Z\)\. Renew/,
  ],
  reserved: [
    () => authority.sign({ alternativeNames: 'DNS:owner.home.lan', commonName: 'cursor' }),
    /names the client \\?"owner\\?" \(its DNS name\), which is refused: \\?"owner\\?" is reserved by the hub/,
  ],
  'of an invalid name': [
    () => authority.sign({ alternativeNames: 'DNS:*.home.lan' }),
    /names the client \\?"\*\\?" \(its DNS name\), which is refused: the name of a client has 1 to 32/,
  ],
  'without a name': [
    () => authority.sign({ alternativeNames: 'IP:127.0.0.1' }),
    /names no client: it has neither a DNS name/,
  ],
};

/** Certificates signed so far, by name, so that the tests of both modes share them. */
const signed = new Map<string, Certificate>();

function signOnce(name: string, sign: () => Certificate): Certificate {
  const certificate = signed.get(name) ?? sign();
  signed.set(name, certificate);
  return certificate;
}

for (const isRequired of [true, false])
  describe(`with certificates ${isRequired ? 'required' : 'requested'},`, () => {
    test.for(Object.entries(refusedOnes))(
      'a certificate that is %s is refused on HTTPS and WSS, also with the token',
      async ([name, [sign, why]]) => {
        // Each test starts a hub, because a hub logs only one refusal per second.
        await using secure = await startSecure(isRequired, { http: { token: 'secret' } }, []);
        const { hub, served } = secure;
        const presenting = { certificate: signOnce(name, sign), token: 'secret' };
        const { status, text } = await ask(hub, presenting);
        assert.equal(status, 403);
        assert.match(text, why);
        const refusal = await openSocket(hub, presenting);
        assert.match(refusal, /^403 /);
        assert.match(refusal, why);
        await assert.rejects(callBySdk(hub, presenting));
        assert.deepEqual(served, []);
        const lines = hub.logged.filter(({ level }) => level === 'warn');
        assert.ok(
          lines.some(({ message }) => why.test(message)),
          JSON.stringify(lines),
        );
      },
    );

    test('a valid certificate identifies its client, without a token', async () => {
      await using secure = await startSecure(isRequired, { http: { token: 'secret' } });
      const { hub, served } = secure;
      const { sign } = second;
      for (const [certificate, name] of [
        [cursor, 'cursor'],
        [sign({ alternativeNames: 'email:other@home.lan', commonName: 'x' }), 'other'],
      ] as const) {
        await callBySdk(hub, { certificate });
        assert.equal(await openSocket(hub, { certificate }), 'open');
        const expected: Principal = { kind: 'client', name, grants: { administer: false } };
        assert.ok(served.length >= 3);
        for (const principal of served.splice(0)) assert.deepEqual(principal, expected);
        const administered = await ask(hub, { certificate }, '/config/reload', 'POST');
        assert.equal(administered.status, 401, 'it administers nothing');
      }
    });

    test('a token beside a certificate must not be of another client', async () => {
      await using secure = await startSecure(isRequired, {
        http: { token: 'secret', ownerKey: 'key' },
      });
      const { hub } = secure;
      for (const token of ['secret', 'key'])
        assert.equal((await ask(hub, { certificate: cursor, token })).status, 200, token);
      const { status, text } = await ask(hub, { certificate: cursor, token: 'another' });
      assert.equal(status, 403);
      assert.match(
        text,
        /names the client \\"cursor\\", and the bearer token is not of that client/,
      );
      assert.match(await openSocket(hub, { certificate: cursor, token: 'another' }), /^403/);
      const key = { certificate: cursor, token: 'key' };
      assert.equal((await ask(hub, key, '/config/reload', 'POST')).status, 200);
    });
  });

test('with certificates required, a client without one is refused before its first request', async () => {
  await using secure = await startSecure(true);
  const { hub, served } = secure;
  const why = /requires a certificate of each client \(ROUTER_TLS_CLIENT_AUTH\)/;
  const { status, text } = await ask(hub, { token: 'key' });
  assert.equal(status, 403);
  assert.match(text, why);
  const refusal = await openSocket(hub, {});
  assert.match(refusal, /^403 /);
  assert.match(refusal, why);
  await assert.rejects(callBySdk(hub, {}));
  assert.deepEqual(served, []);
  const lines = hub.logged.filter(({ message }) => why.test(message));
  assert.ok(lines.length >= 1 && lines.length <= 3, 'at most one in a second');
});

test('with certificates requested, a client without one needs the token, or none', async () => {
  await using locked = await startSecure(false, { http: { token: 'secret' } });
  assert.equal((await ask(locked.hub, {})).status, 401);
  assert.match(await openSocket(locked.hub, {}), /^401/);
  await callBySdk(locked.hub, { token: 'secret' });
  assert.equal(locked.served[0]?.name, 'token');
  await using open = await startSecure(false);
  assert.equal(await openSocket(open.hub, {}), 'open');
  assert.equal(open.served[0]?.name, 'local');
});

test.for([
  ['none.pem', undefined, /^ROUTER_TLS_CLIENT_CA: ".*none\.pem" cannot be read \(ENOENT.*\)/],
  [
    'text.pem',
    'no PEM',
    /text\.pem" contains no certificate in PEM form\. Write the PEM file of the/,
  ],
  ['key.pem', readFileSync(cursor.keyFile, 'utf8'), /contains no certificate in PEM form/],
  ['damaged.pem', `${ca}${ca.replaceAll('M', 'A')}`, /damaged certificate, number 2: .*\. Write/],
] as const)('the start is refused if the authorities are in %s', async ([name, text, message]) => {
  const caFile = join(certificates.folder, name);
  if (text !== undefined) writeFileSync(caFile, text);
  const tls = { ...hubCertificate, clients: { caFile, isRequired: true } };
  await assert.rejects(startHub([], { http: { tls } }), { code: 'HUB_CONFIG_INVALID', message });
});

test.for([
  ['DNS:cursor', 'cursor'],
  ['email:ann@home.lan, DNS:cursor.home.lan, DNS:other', 'cursor'],
  ['URI:spiffe://home.lan/ns/cursor, email:ann@home.lan', 'ann'],
  ['IP Address:127.0.0.1, URI:spiffe://home.lan/ns/cursor', 'cursor'],
  ['IP Address:::1', 'common'],
  ['othername:"x, DNS:owner", DNS:cursor', 'cursor'],
  ['DNS:"a\\", DNS:b", DNS:c', 'a", DNS:b'],
  [undefined, 'common'],
] as const)('the client name in %s is %s', ([subjectAltName, name]) => {
  assert.equal(clientNameIn({ subject: 'C=XX\nCN=common', subjectAltName })?.name, name);
});

test('a file may contain several authorities, with other text between them', () => {
  assert.equal(readAuthorities(readFileSync(authoritiesFile, 'utf8')).length, 2);
});
