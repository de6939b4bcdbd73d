import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, test } from 'vitest';
import { type HubOptions, startHub, until } from '#helpers/hub';
import { send } from '../transports/raw.ts';

/** Sends `bytes`, then `then` once the text `after` was received. Returns all that the hub sends before it closes. */
async function answerTo(url: string, bytes: string, then = '', after = ''): Promise<string> {
  const { hostname, port } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port) });
  let text = '';
  let over = false;
  socket.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  socket.on('close', () => (over = true)).on('error', () => {});
  socket.write(bytes);
  await until(() => text.includes(after));
  if (then !== '') socket.write(then);
  await until(
    () => over,
    () => text,
  );
  return text;
}

const impatient: HubOptions = { http: { patience: { headMs: 50, requestMs: 100 } } };
const known = 'GET /health HTTP/1.1\r\nhost: localhost\r\n';

const stream = 'GET /sse HTTP/1.1\r\nhost: localhost\r\n\r\n';

/** Request, and the status and message of the response. */
const rows: readonly (readonly [string, string, number, RegExp, HubOptions?])[] = [
  ['what is not HTTP', 'nonsense\r\n\r\n', 400, /not HTTP that the hub can read/],
  ['a version that is unknown', 'GET / HTTP/9\r\n\r\n', 400, /not HTTP that the hub can read/],
  ['a TLS handshake', '\x16\x03\x01\x02\x00\x01', 400, /not HTTP that the hub can read/],
  [
    'two lengths of one body',
    `${known}content-length: 1\r\ncontent-length: 2\r\n\r\n`,
    400,
    /not HTTP that the hub can read/,
  ],
  ['a head that is too large', `${known}x: ${'x'.repeat(20_000)}\r\n\r\n`, 431, /16384 bytes/],
  ['a head that does not end in time', known, 408, /did not arrive in time/, impatient],
  ['nothing for too long', '', 408, /did not arrive in time/, impatient],
  [
    'a body that does not end in time',
    'POST /mcp HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{',
    408,
    /did not arrive in time/,
    impatient,
  ],
];

describe('a request that cannot be parsed', () => {
  for (const [what, bytes, status, message, options] of rows)
    test(`is ${what}: ${status}, with an error of the hub`, async () => {
      await using hub = await startHub([], options);
      const text = await answerTo(hub.url, bytes);
      const [head = '', body = ''] = text.split('\r\n\r\n');
      assert.match(head, new RegExp(`^HTTP/1.1 ${status} [A-Z]`));
      assert.match(head, /content-type: application\/json/);
      assert.match(head, /connection: close/);
      const { error } = JSON.parse(body);
      assert.equal(error.code, 'HUB_REQUEST_INVALID');
      assert.match(error.message, message);
      assert.equal((await send(`${hub.url}/health`)).status, 200, 'the hub goes on');
    });

  test('is not a request whose answer takes longer than the request timeout', async () => {
    await using hub = await startHub([{ name: 'echo' }], impatient);
    const response = await send(`${hub.url}/mcp/echo/tools/call`, {
      method: 'POST',
      body: { name: 'slow', arguments: { ms: 500 } },
    });
    assert.equal(response.status, 200, await response.body());
  });

  test('is not a request without Host, which the guard refuses like a foreign one', async () => {
    await using hub = await startHub([]);
    const text = await answerTo(hub.url, 'GET /health HTTP/1.1\r\nconnection: close\r\n\r\n');
    assert.match(text, /^HTTP\/1.1 403 /);
    assert.match(text, /"HUB_REQUEST_INVALID","message":"Host .* is not this hub/);
  });

  test('ends the answer to the one before it, without an answer of its own', async () => {
    await using hub = await startHub([]);
    const text = await answerTo(hub.url, stream, 'nonsense\r\n\r\n', 'endpoint');
    assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1, text);
    assert.match(text, /^HTTP\/1\.1 200 /);
    await until(() => hub.connections.size === 0);
  });

  test('drops the one before it, whose answer has not begun', async () => {
    await using hub = await startHub([]);
    const text = await answerTo(hub.url, `${stream}nonsense\r\n\r\n`);
    assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1, text);
    await until(() => hub.connections.size === 0);
  });
});

describe('pipelined requests', () => {
  const next = `${known}\r\n`;

  test('are not read beyond a limit', async () => {
    await using hub = await startHub([]);
    const { hostname, port } = new URL(hub.url);
    const socket = connect({ host: hostname, port: Number(port) });
    let text = '';
    socket
      .setEncoding('utf8')
      .on('data', (chunk: string) => (text += chunk))
      .on('error', () => {});
    const whole = new Promise(resolve => socket.write(stream + next.repeat(500_000), resolve));
    await until(() => text.includes('endpoint'));
    assert.equal(
      await Promise.race([whole, send(`${hub.url}/health`).then(() => 'unread')]),
      'unread',
    );
    assert.equal(text.match(/HTTP\/1\.1/g)?.length, 1, text);
    socket.destroy();
  });

  test('are all answered', async () => {
    await using hub = await startHub([]);
    const last = next.replace('\r\n\r\n', '\r\nconnection: close\r\n\r\n');
    const text = await answerTo(hub.url, next.repeat(200) + last);
    assert.equal(text.match(/HTTP\/1\.1 200 /g)?.length, 201);
  });
});
