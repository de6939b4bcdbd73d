import assert from 'node:assert/strict';
import type http from 'node:http';
import { describe, test } from 'vitest';
import { call, record } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { modern } from './modern.ts';
import { errorOf, stream } from './scene.ts';
import { startLegacy } from './sdk-servers.ts';
import { type Served, serve } from './serve.ts';

const endpoint = 'event: endpoint\ndata: /messages\n\n';

/** Runs a test against a server that opens a stream with these events, and answers messages by `post`. */
async function withServer<T>(
  events: string,
  run: (server: Served, streams: readonly http.ServerResponse[]) => Promise<T>,
  post: (request: http.IncomingMessage, response: http.ServerResponse) => unknown = (_, response) =>
    response.writeHead(202).end(),
): Promise<T> {
  const streams: http.ServerResponse[] = [];
  const server = await serve(async (request, response) => {
    if (request.method === 'POST') return await post(request, response);
    streams.push(response);
    return stream(response, events);
  });
  try {
    return await run(server, streams);
  } finally {
    await server.stop();
  }
}

const launch = (url: string, signal?: AbortSignal) =>
  launchRemote(url, { transport: 'sse', headers: { 'X-Key': 'a' }, ...(signal && { signal }) });

describe('the opening of HTTP with SSE', () => {
  test('refuses an endpoint for messages on another origin', async () => {
    const server = await serve((_, response) =>
      stream(response, 'event: endpoint\ndata: https://elsewhere.test/messages?key=1\n\n'),
    );
    try {
      await assert.rejects(launchRemote(server.url, { transport: 'sse' }), {
        code: 'HUB_SERVER_PROTOCOL',
        message: /wants its messages at https:\/\/elsewhere\.test\/messages, which is not on/,
      });
    } finally {
      await server.stop();
    }
  });

  test('reports what is wrong with the endpoint', async () => {
    const server = await serve((_, response) => response.writeHead(405).end());
    await assert.rejects(launchRemote(server.url, { transport: 'sse' }), {
      code: 'HUB_REMOTE_UNREACHABLE',
      message: /no MCP endpoint there \(405/,
    });
    await server.stop();
    await assert.rejects(launchRemote(server.url, { transport: 'sse' }), {
      code: 'HUB_REMOTE_UNREACHABLE',
      message: /ECONNREFUSED/,
    });
  });

  test('refuses an endpoint that is not a URL, and waits for the first one', async () => {
    await withServer('event: endpoint\ndata: http://[\n\n', async ({ url }) => {
      await assert.rejects(launch(url), {
        code: 'HUB_SERVER_PROTOCOL',
        message: /wants its messages at an address that is not a URL, which is not on/,
      });
    });
  });

  test('fails if the stream ends before the endpoint event', async () => {
    const server = await serve((_, response) => {
      stream(response, ': nothing\n\n');
      response.end();
    });
    await assert.rejects(launch(server.url), {
      code: 'HUB_SERVER_DOWN',
      message: 'tested ended its event stream',
    });
    await server.stop();
  });

  test('takes no longer than the start timeout, whatever the server omits', async () => {
    for (const answer of [
      () => {},
      (response: http.ServerResponse) => stream(response, ': \n\n'),
    ]) {
      const closed = Promise.withResolvers<void>();
      const server = await serve((_, response) => {
        response.on('close', closed.resolve);
        answer(response);
      });
      await assert.rejects(launchRemote(server.url, { transport: 'sse', timeoutMs: 50 }), {
        code: 'HUB_SERVER_START_FAILED',
        message:
          'tested did not open its event stream within 0.05 s. Raise "start_timeout" if it needs longer',
      });
      await closed.promise;
      await server.stop();
    }
  });

  test('is aborted with its signal, and so is the stream', async () => {
    const opened = Promise.withResolvers<http.ServerResponse>();
    const server = await serve((_, response) => {
      stream(response, ': nothing\n\n');
      opened.resolve(response);
    });
    const ending = new AbortController();
    const launched = launch(server.url, ending.signal);
    const response = await opened.promise;
    const closed = new Promise<void>(resolve => response.on('close', resolve));
    ending.abort();
    await assert.rejects(launched, { code: 'HUB_CALL_CANCELLED' });
    await closed;
    await server.stop();
  });
});

describe('messages over HTTP with SSE', () => {
  test('are sent to the endpoint of the server, with its headers and the revision', async () => {
    const seen: unknown[] = [];
    const post = async (request: http.IncomingMessage, response: http.ServerResponse) => {
      const { url, headers } = request;
      seen.push([url, headers['x-key'], headers['content-type'], headers['mcp-protocol-version']]);
      await request.toArray();
      response.writeHead(202).end();
    };
    await withServer(
      'event: endpoint\ndata: messages?session=1\n\n',
      async ({ url }, streams) => {
        const { channel } = await launch(url);
        const heard = record(channel);
        channel.send(call(0, 'initialize'));
        const result = { protocolVersion: '2024-11-05' };
        streams[0]?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 0, result })}\n\n`);
        await heard.answer(0);
        channel.send(call(1, 'ping'));
        streams[0]?.write(`data: ${JSON.stringify({ jsonrpc: '2.0', id: 1, result: {} })}\n\n`);
        await heard.answer(1);
        channel.close('bye');
      },
      post,
    );
    assert.deepEqual(seen[0], ['/messages?session=1', 'a', 'application/json', undefined]);
  });

  test.each([
    [404, true],
    [400, false],
    [500, false],
  ])(
    'that are refused with %d get an error response; the session has ended: %s',
    async (status, isOver) => {
      await withServer(
        endpoint,
        async ({ url }) => {
          const { channel } = await launch(url);
          const heard = record(channel);
          channel.send(call(1, 'ping'));
          if (isOver) {
            assert.match((await channel.closed).reason, /no MCP endpoint there \(404/);
            return;
          }
          assert.match((await errorOf(heard, 1)).message, new RegExp(`answered ${status}`));
          channel.send(call(2, 'ping'));
          await errorOf(heard, 2);
          channel.close('bye');
        },
        (_, response) => response.writeHead(status).end(),
      );
    },
  );

  test('end with the stream, which is the session', async () => {
    await withServer(endpoint, async ({ url }, streams) => {
      const { channel, exited } = await launch(url);
      streams[0]?.end();
      const { reason, error } = await channel.closed;
      assert.equal(reason, 'tested ended its event stream');
      assert.ok(error && 'code' in error && error.code === 'HUB_SERVER_DOWN');
      assert.deepEqual(await exited, { detail: reason });
    });
  });

  test('end with a reason if the stream breaks', async () => {
    await withServer(endpoint, async ({ url }, streams) => {
      const { channel } = await launch(url);
      streams[0]?.destroy();
      assert.match((await channel.closed).reason, /^tested ended its event stream: aborted$/);
    });
  });

  test('of 2026-07-28 are not sent', async () => {
    const server = await startLegacy();
    try {
      const instance = await launchRemote(server.url, { transport: 'sse' });
      const { channel } = instance;
      const heard = record(channel);
      channel.send(modern(1, 'server/discover'));
      const error = await errorOf(heard, 1);
      assert.equal(error.code, -32601);
      assert.match(error.message, /over HTTP with SSE, which MCP 2026-07-28 does not have/);
      assert.deepEqual(
        server.requests.map(({ method }) => method),
        ['GET'],
      );
      await instance.stop({ graceMs: 100 });
    } finally {
      await server.stop();
    }
  });
});
