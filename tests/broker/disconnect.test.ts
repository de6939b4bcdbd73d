import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdir, mkdtemp, realpath, rm } from 'node:fs/promises';
import { type ServerResponse, createServer, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { createBroker } from '#broker';
import { silent } from '#core';
import { containerBody, owner } from './bodies.ts';

test('a creation whose client has gone counts until the engine has answered', async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'broker-gone-')));
  const root = join(folder, 'root');
  await mkdir(join(root, 'inner'), { recursive: true });
  const socketPath = join(folder, 'broker.sock');
  const enginePath = join(folder, 'engine.sock');

  /** An engine double that lists no containers and answers a creation late. */
  const creating = Promise.withResolvers<ServerResponse>();
  const engine = createServer((asked, answer) => {
    asked.resume();
    if (asked.url?.startsWith('/containers/create')) creating.resolve(answer);
    else answer.end('[]');
  });
  engine.listen({ path: enginePath });
  await once(engine, 'listening');
  const broker = createBroker(
    { ...owner, socketPath, enginePath, mountRoots: [root], registries: [], imagesDir: folder },
    { log: silent, readBuildContext: async () => Buffer.alloc(0), readLock: () => undefined },
  );
  await broker.start(AbortSignal.timeout(5000));

  const create = (name: string, Source: string) => {
    const path = `/containers/create?name=${owner.hubName}-${name}`;
    const asked = request({ socketPath, method: 'POST', path });
    const mount = { Type: 'bind', Source, Target: '/x', ReadOnly: false };
    asked.end(JSON.stringify(containerBody({ Mounts: [mount] })));
    asked.on('error', () => {});
    return asked;
  };
  try {
    const gone = create('outer', root);
    const answer = await creating.promise;
    const closed = new Promise<void>(resolve => gone.on('close', resolve));
    gone.destroy();
    await closed;
    const refused = create('inner', join(root, 'inner'));
    const [{ statusCode }] = await once(refused, 'response');
    assert.equal(statusCode, 403);
    assert.equal(answer.closed, false, 'the engine is still waited for');
  } finally {
    await broker.stop();
    engine.closeAllConnections();
    engine.close();
    await rm(folder, { recursive: true });
  }
});
