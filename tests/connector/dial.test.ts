import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type RequestListener, createServer } from 'node:http';
import { describe, test } from 'vitest';
import { WebSocketServer } from 'ws';
import { createManualClock } from '#helpers/clock';
import {
  type LinkHandlers,
  baseOf,
  dialHub,
  refused,
  unreachable,
} from '../../hub/connector/dial.ts';

describe('the address of a hub', () => {
  test.for([
    ['http://localhost:9090', 'http://localhost:9090'],
    ['http://localhost:9090/', 'http://localhost:9090'],
    ['HTTPS://Hub.example:443/mcp/', 'https://hub.example'],
    ['https://hub.example/base/mcp?x=1#y', 'https://hub.example/base'],
    ['http://user:s3cret@hub.example/x', 'http://hub.example/x'],
    ['http://hub.example/mcp/notes', 'http://hub.example/mcp/notes'],
  ] as const)('%s leads to %s', ([text, base]) => {
    assert.equal(baseOf(text), base);
  });

  test.for(['localhost:9090', 'ftp://hub.example', 'hub', ''])('is not derived from %j', text => {
    assert.throws(() => baseOf(text), { code: 'HUB_USAGE', message: /^--url: .* is not allowed/ });
  });
});

test.for([
  ['http://h', 'ECONNREFUSED', /^no hub answers at http:\/\/h \(why\)\. Start one/],
  ['http://h', 'ECONNRESET', /ended the connection.*write https:\/\/ in --url$/],
  ['https://h', 'ECONNRESET', /^no hub answers/],
  ['https://h', 'EPROTO', /speaks no TLS.*write http:\/\/ in --url$/],
  ['https://h', 'ERR_SSL_WRONG_VERSION_NUMBER', /speaks no TLS/],
  ['http://h', 'EPROTO', /^no hub answers/],
  ['https://h', 'DEPTH_ZERO_SELF_SIGNED_CERT', /is not trusted here.*NODE_EXTRA_CA_CERTS/],
  ['https://h', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', /is not trusted here/],
  ['https://h', 'CERT_HAS_EXPIRED', /is not valid for that address now/],
  ['WSS://h', 'ERR_TLS_CERT_ALTNAME_INVALID', /is not valid for that address now/],
  ['http://h', 'CERT_HAS_EXPIRED', /^no hub answers/],
] as const)(
  'the connection to %s fails with %s, and the message has a remedy',
  ([url, code, message]) => {
    const cause = Object.assign(new Error('why'), { code });
    const error = unreachable({ url }, cause);
    assert.match(error.message, message);
    assert.deepEqual([error.code, error.cause], ['HUB_CONNECT_FAILED', cause]);
    assert.match(unreachable({ url }, 'why').message, /^no hub answers/);
  },
);

test.for([
  [401, undefined, undefined, /wants its token/],
  [404, 'one', 'no server "one"', /does not know --server "one": no server "one"$/],
  [404, '@work', 'no profile "work"', /does not know --profile "work": no profile "work"$/],
  [404, 'one', undefined, /is not AgentHub \(HTTP status 404\)/],
  [404, undefined, 'no such path', /refuses the connection: no such path$/],
  [503, 'one', 'it is stopping', /refuses the connection: it is stopping$/],
] as const)('status %i for server %s with %j is explained', ([status, server, message, told]) => {
  assert.match(refused({ url: 'http://h', server }, status, message).message, told);
});

const silent: LinkHandlers = { message() {}, closed() {} };

async function listen(listener: RequestListener) {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  assert.ok(typeof bound === 'object' && bound);
  return {
    server,
    address: {
      url: `http://127.0.0.1:${bound.port}/base`,
      server: 'a b',
      token: 'a-token',
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe('a hub that refuses the client with the body', () => {
  test.for([
    ['{"error": {"message": "it is stopping"}}', /refuses the connection: it is stopping$/],
    ['{"error": "no object"}', /is not AgentHub \(HTTP status 503\)/],
    [JSON.stringify({ error: { message: 'x'.repeat(20_000) } }), /is not AgentHub/],
    ['{"error": {"mess', /is not AgentHub/],
  ] as const)('%#: is reported', async ([body, message]) => {
    await using hub = await listen((_, response) => response.writeHead(503).end(body));
    await assert.rejects(dialHub(hub.address, silent, createManualClock()), {
      code: 'HUB_CONNECT_FAILED',
      message,
    });
  });

  test('and disconnects in the middle of it is reported by its status', async () => {
    await using hub = await listen((_, response) => {
      response.writeHead(503, { 'content-length': 100 }).write('{', () => response.destroy());
    });
    await assert.rejects(dialHub(hub.address, silent, createManualClock()), /HTTP status 503/);
  });
});

/** Starts a hub that accepts the client, and connects a link to it. */
async function join() {
  const hub = await listen(() => {});
  const sockets = new WebSocketServer({ server: hub.server });
  const connected = once(sockets, 'connection');
  const clock = createManualClock();
  const messages: string[] = [];
  const closed = Promise.withResolvers<string>();
  const ends: string[] = [];
  const on: LinkHandlers = {
    message: bytes => void messages.push(bytes.toString()),
    closed(reason) {
      ends.push(reason);
      closed.resolve(reason);
    },
  };
  const link = await dialHub(hub.address, on, clock);
  const [socket, request] = await connected;
  return { ...hub, link, socket, request, clock, messages, ends, closed: closed.promise };
}

describe('a link to a hub', () => {
  test('is for one server, with the token, and forwards messages', async () => {
    await using hub = await join();
    assert.equal(hub.request.url, '/base/mcp/a%20b');
    assert.equal(hub.request.headers.authorization, 'Bearer a-token');
    const received = once(hub.socket, 'message');
    hub.link.write([Buffer.from('{"to":"hub"}')]);
    const [bytes, isBinary] = await received;
    assert.deepEqual([String(bytes), isBinary], ['{"to":"hub"}', false]);
    hub.socket.send('{"to":"client"}');
    hub.socket.close(1001, 'it stops');
    assert.equal(await hub.closed, 'it stops');
    assert.deepEqual(hub.messages, ['{"to":"client"}']);
    assert.equal(hub.clock.waiting, 0);
  });

  test('that breaks reports it', async () => {
    await using hub = await join();
    hub.socket.terminate();
    assert.equal(await hub.closed, 'the connection broke');
  });

  test('ends after a minute without a ping', async () => {
    await using hub = await join();
    hub.clock.advance(59_999);
    const ponged = once(hub.socket, 'pong');
    hub.socket.ping();
    await ponged;
    hub.clock.advance(59_999);
    assert.equal(hub.clock.waiting, 1);
    hub.clock.advance(1);
    assert.equal(hub.clock.waiting, 0);
    assert.equal(await hub.closed, 'the connection broke');
  });

  test('that the client closes is closed at the hub, and reports nothing to the client', async () => {
    await using hub = await join();
    const over = once(hub.socket, 'close');
    hub.link.close();
    hub.link.close();
    await over;
    assert.deepEqual([hub.ends, hub.clock.waiting], [[], 0]);
  });
});
