import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { test } from 'vitest';
import { call, record } from '../../contracts/recorder.ts';
import { createTestRuntime, launchRemote } from './launch.ts';
import { json } from './scene.ts';
import { serve } from './serve.ts';

test('one connection carries what several instances say one after the other', async () => {
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
