import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { createServer as createTcpServer } from 'node:net';
import { once } from 'node:events';
import { describe, test } from 'vitest';
import { systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import {
  createBoundedFetch,
  kindOfAddress,
  maxAnswerBytes,
} from '../../hub/oauth/bounded-fetch.ts';

const fetchFor = (url: string, clock = systemClock) =>
  createBoundedFetch({ name: 'docs', url }, { clock });
const elsewhere = fetchFor('https://203.0.113.5/mcp');
const here = fetchFor('http://127.0.0.1:1/mcp');

test.for([
  ['8.8.8.8', 'public'],
  ['2606:4700::1', 'public'],
  ['127.9.9.9', 'loopback'],
  ['::1', 'loopback'],
  ['::ffff:127.0.0.1', 'loopback'],
  ['10.1.2.3', 'private'],
  ['172.31.0.1', 'private'],
  ['192.168.1.1', 'private'],
  ['fd00::1', 'private'],
  ['169.254.169.254', 'refused'],
  ['::ffff:169.254.169.254', 'refused'],
  ['fe80::1', 'refused'],
  ['0.0.0.0', 'refused'],
  ['::', 'refused'],
  ['64:ff9b::a9fe:a9fe', 'refused'],
  ['64:ff9b:1::a9fe:a9fe', 'refused'],
  ['::a9fe:a9fe', 'refused'],
  ['fec0::1', 'refused'],
  ['::ffff:7f00:1', 'loopback'],
  ['224.0.0.1', 'refused'],
  ['100.100.100.200', 'refused'],
  ['100.100.100.201', 'private'],
  ['168.63.129.16', 'refused'],
  ['::ffff:168.63.129.16', 'refused'],
  ['fd00:ec2::254', 'refused'],
  ['2001::a9fe:a9fe', 'refused'],
  ['2001:4860::1', 'public'],
] as const)('the address %s is %s', ([address, kind]) => {
  assert.equal(kindOfAddress(address), kind);
});

describe('an address that a server gives for its login', () => {
  test.for([
    ['http://login.example.com/token', /needs https/],
    ['ftp://login.example.com/', /needs https/],
    ['file:///etc/passwd', /needs https/],
    ['https://user:word@login.example.com/', /user or password/],
    ['https://127.0.0.1:9090/servers', /not an address/],
    ['http://127.0.0.1:9090/servers', /not an address/],
    ['https://localhost/', /not an address/],
    ['https://169.254.169.254/latest/meta-data', /not an address/],
    ['https://[::ffff:169.254.169.254]/', /not an address/],
    ['https://10.0.0.7/', /not an address/],
    ['https://2130706433/', /not an address/],
  ] as const)('of a remote server cannot be %s', async ([url, message]) => {
    await assert.rejects(elsewhere(url), { code: 'HUB_LOGIN_FAILED', message });
  });

  test('of a server on loopback cannot be link-local', async () => {
    await assert.rejects(here('https://169.254.169.254/'), /not an address/);
  });
});

describe('a name whose address changes', () => {
  /** Creates a fetch for which the host resolves to these addresses, in order. */
  const resolving = (url: string, ...addresses: readonly string[]) => {
    const left = [...addresses];
    const resolve = async () => ({ address: left.shift() ?? assert.fail('asked too often') });
    return createBoundedFetch({ name: 'docs', url }, { clock: systemClock, resolve });
  };

  test('is connected to at the address that was checked', async () => {
    const server = createServer((_request, response) => response.end('checked'));
    server.listen(0, '127.0.0.2');
    await once(server, 'listening');
    const { port } = portOf(server.address());
    const url = `http://login.localhost:${port}/`;
    const ask = resolving('http://127.0.0.1:1/mcp', '127.0.0.2', '169.254.169.254');
    assert.equal(await (await ask(url)).text(), 'checked');
    await assert.rejects(ask(url), /169\.254\.169\.254.*not an address/);
    server.close();
  });

  test('is checked again for each request', async () => {
    const ask = resolving('https://203.0.113.5/mcp', '127.0.0.1', '10.0.0.7');
    for (const address of [/\(127\.0\.0\.1\), which is not/, /\(10\.0\.0\.7\), which is not/])
      await assert.rejects(ask('https://login.example.com/'), address);
  });
});

describe('a response', () => {
  test('is read up to a limit', async () => {
    const server = createServer((_request, response) =>
      response.end(Buffer.alloc(maxAnswerBytes + 1)),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = portOf(server.address());
    await assert.rejects(here(`http://127.0.0.1:${port}/`), /larger than/);
    server.close();
  });

  test('that redirects is not followed', async () => {
    const server = createServer((_request, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = portOf(server.address());
    assert.equal((await here(`http://127.0.0.1:${port}/`)).status, 302);
    server.close();
  });

  test('of another protocol is refused', async () => {
    const server = createTcpServer(socket =>
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Other\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
      ),
    ).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = portOf(server.address());
    await assert.rejects(here(`http://127.0.0.1:${port}/`), /it answered 101/);
    server.close();
  });

  test('is waited for 15 seconds', async () => {
    const asked = Promise.withResolvers<void>();
    const server = createServer(() => asked.resolve()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = portOf(server.address());
    const clock = createManualClock();
    const answer = fetchFor('http://127.0.0.1:1/mcp', clock)(`http://127.0.0.1:${port}/`);
    answer.catch(() => {});
    await asked.promise;
    clock.advance(15_000);
    await assert.rejects(answer, /no answer within 15 s/);
    server.closeAllConnections();
    server.close();
  });
});

function portOf(address: ReturnType<ReturnType<typeof createServer>['address']>) {
  assert.ok(address !== null && typeof address === 'object');
  return address;
}
