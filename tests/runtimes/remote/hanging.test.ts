import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { call, until } from '../../contracts/recorder.ts';
import { launchRemote } from './launch.ts';
import { against, json } from './scene.ts';
import { serve } from './serve.ts';

describe('a server that does not answer', () => {
  test('does not delay others, and its calls can be cancelled', () => {
    let hanging = 0;
    return against(
      (_, response, { id, method }) => {
        if (method === 'hang') {
          hanging++;
          response.on('close', () => hanging--);
        } else if (id === undefined) response.writeHead(202).end();
        else json(response, { jsonrpc: '2.0', id, result: {} });
      },
      async ({ channel, heard }) => {
        // One more than the 64 requests that can be open at the same time.
        for (let id = 1; id <= 65; id++) channel.send(call(id, 'hang'));
        await until(() => hanging === 64, 'the calls');
        // A request that was not sent yet is cancelled without a message to the server.
        channel.send(call(undefined, 'notifications/cancelled', { requestId: 65 }));
        channel.send(call(100, 'quick'));
        channel.send(call(undefined, 'notifications/cancelled', { requestId: 1 }));
        await heard.answer(100);
        assert.equal(hanging, 63);
        assert.equal(heard.messages.length, 2);
        channel.close('enough');
        await until(() => hanging === 0, 'the end of the calls');
      },
    );
  });

  test('is disconnected at once when it is stopped', async () => {
    const server = await serve(() => {});
    try {
      const instance = await launchRemote(server.url);
      instance.channel.send(call(1, 'initialize'));
      assert.equal((await instance.stop({ graceMs: 50 })).detail, 'tested was disconnected');
      const legacy = AbortSignal.timeout(50);
      await assert.rejects(launchRemote(server.url, { transport: 'sse', signal: legacy }), {
        code: 'HUB_CALL_CANCELLED',
      });
    } finally {
      await server.stop();
    }
  });

  test('is awaited no longer than the grace period at the end of the session', () =>
    against(
      () => {},
      async ({ instance }) => {
        const started = performance.now();
        await instance.stop({ graceMs: 50 });
        assert.ok(performance.now() - started < 2000);
      },
    ));
});
