import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { call } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { against, json, stream } from './scene.ts';
import { serve } from './serve.ts';

describe('the handshake', () => {
  test('keeps its order: nothing passes it', async () => {
    const methods: string[] = [];
    await against(
      (request, response, { id, method }) => {
        if (request.method !== 'POST') {
          response.writeHead(405).end();
          return;
        }
        methods.push(`${method} begins`);
        setTimeout(() => {
          methods.push(`${method} ends`);
          if (id === undefined) response.writeHead(202).end();
          else json(response, { jsonrpc: '2.0', id, result: {} });
        }, 20);
      },
      async ({ channel, heard }) => {
        channel.send(call(undefined, 'notifications/initialized'));
        channel.send(call(1, 'tools/list'));
        await heard.answer(1);
        assert.deepEqual(methods, [
          'notifications/initialized begins',
          'notifications/initialized ends',
          'tools/list begins',
          'tools/list ends',
        ]);
      },
    );
  });

  test('of HTTP with SSE refuses an address for messages on another origin', async () => {
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

  test('of HTTP with SSE says what is wrong with the address', async () => {
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
});

describe('an entry that cannot be right', () => {
  test('is refused before anything is sent, and no value is shown', async () => {
    for (const url of ['ftp://host/mcp', 'host/mcp', ''])
      await assert.rejects(launchRemote(url), { code: 'HUB_LAUNCH_INVALID', message: /http/ });
    await assert.rejects(
      launchRemote('http://127.0.0.1/', { headers: { Authorization: 'Bearer secret\n' } }),
      (error: Error & { code?: string }) => {
        assert.equal(error.code, 'HUB_LAUNCH_INVALID');
        assert.match(error.message, /"Authorization"/);
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
  });
});
