import assert from 'node:assert/strict';
import { once } from 'node:events';
import net, { type Socket } from 'node:net';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { createAgents, createHttpClient } from '../../../hub/runtimes/remote/http-client.ts';
import { call, record } from '../../contracts/recorder.ts';
import { createTestRuntime, launchRemote } from './launch.ts';
import { json } from './scene.ts';
import { serve } from './serve.ts';

function open() {
  const clock = createManualClock();
  const options = { server: 'tested', connectTimeoutMs: 100 };
  const client = createHttpClient(options, { clock, agents: createAgents() });
  const request: typeof client.request = asked => client.request(asked);
  return { clock, request };
}

const { signal } = new AbortController();

describe('a request', () => {
  test('has the length of its body and accepts no compression, whatever the given headers are', async () => {
    const seen: unknown[] = [];
    await using server = await served(async (request, response) => {
      const { method, headers } = request;
      seen.push(method, headers['content-length'], headers['accept-encoding'], headers['x-key']);
      seen.push(Buffer.concat(await request.toArray()).toString());
      response.end();
    });
    const sent = Promise.withResolvers<void>();
    const headers = { 'x-key': 'a', 'accept-encoding': 'gzip' };
    const body = Buffer.from('grün');
    const url = new URL(server.url);
    const response = await open().request({
      method: 'POST',
      url,
      headers,
      body,
      signal,
      sent: sent.resolve,
    });
    response.resume();
    await sent.promise;
    assert.deepEqual(seen, ['POST', '5', 'identity', 'a', 'grün']);
  });

  test('returns any response unchanged, and follows no redirect', async () => {
    await using server = await served((_, response) =>
      response.writeHead(302, { location: '/elsewhere' }).end('moved'),
    );
    const url = new URL(server.url);
    const response = await open().request({ method: 'GET', url, headers: {}, signal });
    assert.equal(response.statusCode, 302);
    assert.equal(Buffer.concat(await response.toArray()).toString(), 'moved');
  });

  test('is aborted with its signal: before it begins, before its response, and during it', async () => {
    const begun = Promise.withResolvers<void>();
    await using server = await served((request, response) => {
      if (request.url === '/never') begun.resolve();
      else response.write('begun');
    });
    const { request } = open();
    const ask = (path: string, ending: AbortSignal) =>
      request({ method: 'GET', url: new URL(path, server.url), headers: {}, signal: ending });
    const givenUp = { code: 'HUB_REMOTE_UNREACHABLE', message: /: it was given up\. Check/ };

    await assert.rejects(ask('/begun', AbortSignal.abort()), givenUp);
    const waiting = new AbortController();
    const never = ask('/never', waiting.signal);
    await begun.promise;
    waiting.abort();
    await assert.rejects(never, givenUp);
    const reading = new AbortController();
    const response = await ask('/begun', reading.signal);
    reading.abort();
    await assert.rejects(response.toArray(), { message: 'it was given up' });
  });

  test('that is answered with another protocol is refused, and its connection closed', async () => {
    const closed = Promise.withResolvers<unknown>();
    const server = net.createServer(socket => {
      closed.resolve(once(socket, 'close'));
      socket.once('data', () =>
        socket.write('HTTP/1.1 101 Other\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n'),
      );
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    assert.ok(address !== null && typeof address === 'object');
    const url = new URL(`http://127.0.0.1:${address.port}/mcp`);
    await assert.rejects(open().request({ method: 'GET', url, headers: {}, signal }), {
      code: 'HUB_REMOTE_UNREACHABLE',
      message: /^tested at http:\/\/127\.0\.0\.1:\d+\/mcp answered 101, which is not MCP\./,
      data: { server: 'tested', status: 101, retryable: false },
    });
    await closed.promise;
    server.close();
  });

  test('names a server that does not listen, without secrets of the URL', async () => {
    const server = await serve(() => {});
    await server.stop();
    const url = new URL(server.url.replace('//', '//user:password@').concat('?key=secret'));
    await assert.rejects(open().request({ method: 'GET', url, headers: {}, signal }), {
      code: 'HUB_REMOTE_UNREACHABLE',
      message: /^tested cannot be reached at http:\/\/127\.0\.0\.1:\d+\/mcp: .*ECONNREFUSED/,
      data: { server: 'tested', retryable: true },
    });
  });

  test('to a server that takes no connection in time is given up', async () => {
    // The server accepts connections, but never begins a TLS handshake.
    const mute = net.createServer().listen(0, '127.0.0.1');
    await once(mute, 'listening');
    const address = mute.address();
    assert.ok(address !== null && typeof address === 'object');
    const { request, clock } = open();
    const url = new URL(`https://127.0.0.1:${address.port}/mcp`);
    const asked = request({ method: 'GET', url, headers: {}, signal });
    await once(mute, 'connection');
    clock.advance(99);
    assert.equal(clock.waiting, 1);
    clock.advance(1);
    await assert.rejects(asked, { message: /no connection within 0\.1 s/ });
    mute.close();
  });

  test('may get a late response: the connect timeout ends once it is connected', async () => {
    const waiting = Promise.withResolvers<() => void>();
    await using server = await served((_, response) => waiting.resolve(() => response.end()));
    const { request, clock } = open();
    const asked = request({ method: 'GET', url: new URL(server.url), headers: {}, signal });
    const answer = await waiting.promise;
    assert.equal(clock.waiting, 0);
    clock.advance(3_600_000);
    answer();
    assert.equal((await asked).statusCode, 200);
  });
});

test('one connection is reused by several instances', async () => {
  const sockets = new Set<Socket>();
  const server = await serve(async (request, response) => {
    sockets.add(request.socket);
    const chunks: Buffer[] = await request.toArray();
    const { id } = JSON.parse(Buffer.concat(chunks).toString());
    json(response, { jsonrpc: '2.0', id, result: {} });
  });
  try {
    const runtime = createTestRuntime();
    for (let id = 1; id <= 5; id++) {
      const instance = await launchRemote(server.url, { runtime });
      const heard = record(instance.channel);
      instance.channel.send(call(id, 'ping'));
      await heard.answer(id);
      await instance.stop({ graceMs: 100 });
    }
    assert.equal(sockets.size, 1);
  } finally {
    await server.stop();
  }
});

async function served(handle: Parameters<typeof serve>[0]) {
  const server = await serve(handle);
  return { ...server, [Symbol.asyncDispose]: () => server.stop() };
}
