import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { createBroker } from '#broker';
import { silent } from '#core';
import { owner } from './bodies.ts';

test('what a client sends behind the head of an attach, in the same packet, reaches the container', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'broker-head-'));
  const socketPath = join(folder, 'broker.sock');
  const enginePath = join(folder, 'engine.sock');

  /** An engine double with one container of the hub, which echoes its input. */
  const engine = createServer((_, answer) => {
    const Labels = { 'io.agenthub.hub': owner.hubId };
    answer.end(JSON.stringify({ Id: 'c0ffee', Config: { Labels } }));
  });
  engine.on('upgrade', (_, socket) => {
    socket.write('HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n');
    socket.pipe(socket);
  });
  engine.listen({ path: enginePath });
  await once(engine, 'listening');
  const broker = createBroker(
    { ...owner, socketPath, enginePath, mountRoots: [], registries: [], imagesDir: folder },
    { log: silent, readBuildContext: async () => Buffer.alloc(0), readLock: () => undefined },
  );
  await broker.start(AbortSignal.timeout(5000));
  const client = connect({ path: socketPath });
  try {
    client.write(
      'POST /containers/ours/attach?stream=1&stdin=1 HTTP/1.1\r\nHost: x\r\n' +
        'Connection: Upgrade\r\nUpgrade: tcp\r\n\r\nfirst line\n',
    );
    let heard = '';
    client.setEncoding('utf8').on('data', chunk => (heard += String(chunk)));
    while (!heard.endsWith('\n\r\n') && !heard.includes('line')) await once(client, 'data');
    client.end('second line\n');
    await once(client, 'end');
    assert.match(heard, /^HTTP\/1\.1 101 [^]*\r\n\r\nfirst line\nsecond line\n$/);
  } finally {
    client.destroy();
    await broker.stop();
    engine.closeAllConnections();
    engine.close();
    await rm(folder, { recursive: true });
  }
});
