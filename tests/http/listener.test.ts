import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type Socket, connect } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import { describe, test } from 'vitest';
import { createCertificates } from '#helpers/certificates';
import { startHub, until } from '#helpers/hub';
import { memoryInUse } from '#helpers/memory';
import { openSession } from '../transports/raw.ts';

const ping = '{"jsonrpc":"2.0","id":"ü","method":"ping"}';
const pong = '{"jsonrpc":"2.0","id":"ü","result":{}}';

/**
 * Writes the pieces one by one, each after the previous one was sent. Returns what was received by the time `done` is
 * true.
 */
async function exchange(
  url: string,
  pieces: readonly (string | Buffer)[],
  done: (text: string) => boolean,
): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  await once(socket, 'connect');
  let text = '';
  socket.on('data', (chunk: Buffer) => (text += chunk.toString()));
  for (const piece of pieces) {
    await new Promise(resolve => socket.write(piece, resolve));
    await new Promise(resolve => setImmediate(resolve));
  }
  await until(() => done(text));
  socket.destroy();
  return text;
}

const headOf = (session: string, ...more: readonly string[]) =>
  [
    'POST /mcp HTTP/1.1',
    'host: localhost',
    'accept: application/json, text/event-stream',
    `mcp-session-id: ${session}`,
    ...more,
    '\r\n',
  ].join('\r\n');

const plain = 'content-type: application/json';
const known = `content-length: ${Buffer.byteLength(ping)}`;

const mebibyte = 2 ** 20;

/** Returns the memory of all buffers after a garbage collection, in bytes, pooled or not. */
async function bufferBytes(): Promise<number> {
  await memoryInUse();
  return process.memoryUsage().external;
}

describe('a POST to an MCP endpoint', () => {
  for (const [name, headers] of [
    ['of a known length', [plain, known]],
    ['with a charset', [`${plain}; charset=utf-8`, known]],
  ] as const)
    test(`${name} is answered, wherever its body is split`, async () => {
      await using hub = await startHub([]);
      const { id } = await openSession(`${hub.url}/mcp`);
      const body = Buffer.from(ping);
      for (const at of [0, 1, body.indexOf('ü') + 1, body.length - 1]) {
        const pieces = [headOf(id, ...headers), body.subarray(0, at), body.subarray(at)];
        const text = await exchange(hub.url, pieces, it => it.includes(pong));
        assert.match(text, /^HTTP\/1\.1 200 /);
      }
    });

  test('without a Content-Length is answered in the same way', async () => {
    await using hub = await startHub([]);
    const { id } = await openSession(`${hub.url}/mcp`);
    const chunked = `${Buffer.byteLength(ping).toString(16)}\r\n${ping}\r\n0\r\n\r\n`;
    const head = headOf(id, plain, 'transfer-encoding: chunked');
    assert.match(await exchange(hub.url, [head, chunked], it => it.includes(pong)), / 200 OK/);
  });

  test('behind another one on the same connection is answered after it', async () => {
    await using hub = await startHub([]);
    const { id } = await openSession(`${hub.url}/mcp`);
    const request = headOf(id, plain, known) + ping;
    const second = request.replaceAll('"ü"', '"ö"');
    const text = await exchange(hub.url, [request + second], it => it.includes('"ö"'));
    assert.ok(text.indexOf('"ü"') < text.indexOf('"ö"'), text);
    assert.equal(text.match(/HTTP\/1\.1 200 /g)?.length, 2);
  });

  test('that ends in the middle of its body does not affect others', async () => {
    await using hub = await startHub([]);
    const { id } = await openSession(`${hub.url}/mcp`);
    await exchange(hub.url, [headOf(id, plain, known), ping.slice(0, 5)], () => true);
    const text = await exchange(hub.url, [headOf(id, plain, known), ping], it => it.includes(pong));
    assert.match(text, /^HTTP\/1\.1 200 /);
    assert.equal(hub.router.inFlight, 0);
  });

  test('is not kept in memory while its client does not read the answer', async () => {
    await using hub = await startHub([{ name: 'echo' }]);
    const { id } = await openSession(`${hub.url}/mcp`);
    const pad = 'x'.repeat(32 * mebibyte);
    const params = { name: 'echo_bytes', arguments: { n: 8 * mebibyte, pad } };
    const body = Buffer.from(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    );
    const { hostname, port } = new URL(hub.url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    const before = await bufferBytes();
    socket.write(headOf(id, plain, `content-length: ${body.length}`));
    await new Promise(resolve => socket.write(body, resolve));
    await until(
      () => hub.router.inFlight === 0 && hub.server('echo').running?.upstream.relayed() === 1,
    );
    const kept = (await bufferBytes()) - before;
    socket.destroy();
    assert.ok(kept < 16 * mebibyte, `${kept} bytes are kept`);
  });

  test('is refused like any other: a foreign Host, no token, an empty body', async () => {
    await using hub = await startHub([], { http: { token: 'secret' } });
    const refusals = [
      [headOf('none', plain, known).replace('localhost', 'evil.example') + ping, 403],
      [headOf('none', plain, known) + ping, 401],
      [headOf('none', plain, 'authorization: Bearer secret', known) + ping, 404],
      [headOf('none', plain, 'authorization: Bearer secret', 'content-length: 0'), 400],
    ] as const;
    for (const [request, status] of refusals) {
      const text = await exchange(hub.url, [request], it => it.includes('"error"'));
      assert.match(text, new RegExp(`^HTTP/1.1 ${status} `));
    }
  });
});

describe('a TLS connection without a request', () => {
  const withoutHandshake = async (port: number): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1');
    await once(socket, 'connect');
    return socket;
  };
  const withoutCertificate = async (port: number, ca: Buffer): Promise<Socket> => {
    const socket = connectSecurely({ port, host: '127.0.0.1', servername: 'localhost', ca });
    await once(socket, 'secureConnect');
    return socket;
  };

  test.for([
    ['or even a handshake', withoutHandshake],
    ['and would be refused', withoutCertificate],
  ] as const)('%s does not keep the hub from stopping', async ([, open]) => {
    using certificates = createCertificates();
    const authority = certificates.createAuthority('home');
    const own = authority.sign({ alternativeNames: 'DNS:localhost' });
    const clients = { caFile: authority.certFile, isRequired: true };
    const hub = await startHub([], { http: { host: 'localhost', tls: { ...own, clients } } });
    const port = Number(new URL(hub.url).port);
    const socket = await open(port, readFileSync(authority.certFile));
    socket.on('error', () => {});
    const closed = once(socket, 'close');
    // A second connection shows that the hub has accepted the first.
    (await withoutCertificate(port, readFileSync(authority.certFile))).destroy();
    await hub[Symbol.asyncDispose]();
    await closed;
  });
});
