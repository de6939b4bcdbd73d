import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { until } from '#helpers/hub';
import { call, supervise } from './scripted.ts';

const clean = { code: 0, detail: 'exited with code 0' };
const failed = { code: 1, detail: 'exited with code 1' };

describe('a server that is permanent', () => {
  test('is restarted however it exits', async () => {
    await using scene = supervise({ restart: 'permanent' });
    await scene.server.ready();
    for (const exit of [clean, failed]) {
      const { restarts } = scene.server;
      scene.newest.end(exit);
      await until(
        () => scene.server.restarts === restarts + 1 && scene.server.running !== undefined,
      );
    }
    assert.equal(scene.alive.length, 1);
  });
});

describe('a server that is transient', () => {
  test('has completed when it exits with code 0: the next call starts it', async () => {
    await using scene = supervise({ restart: 'transient' });
    await scene.server.ready();
    scene.newest.end(clean);
    await until(() => scene.server.status.state === 'stopped');
    assert.deepEqual(scene.server.status, { state: 'stopped', byHand: false });
    assert.equal(await call(scene.server), 'first');
    assert.equal(scene.server.restarts, 0);
  });

  test('is restarted if it fails', async () => {
    await using scene = supervise({ restart: 'transient' });
    await scene.server.ready();
    scene.newest.end(failed);
    await until(() => scene.server.restarts === 1 && scene.server.running !== undefined);
  });

  test('is also started by a call at the moment of its exit', async () => {
    await using scene = supervise({ restart: 'transient' });
    await scene.server.ready();
    const calls: Promise<string>[] = [];
    using _ = scene.server.changed(({ state }) => {
      if (state === 'stopped') calls.push(call(scene.server));
    });
    scene.newest.end(clean);
    await until(() => calls.length === 1);
    assert.equal(await calls[0], 'first');
  });
});

describe('a server that is temporary', () => {
  test('stays stopped if it fails, until it is started by hand', async () => {
    await using scene = supervise({ restart: 'temporary' });
    await scene.server.ready();
    scene.newest.end(failed);
    await until(() => scene.server.status.state === 'failed');
    await assert.rejects(call(scene.server), { code: 'HUB_SERVER_FAILED' });
    scene.server.start();
    assert.equal(await call(scene.server), 'first');
    assert.equal(scene.server.restarts, 0);
  });

  test('has completed when it exits with code 0', async () => {
    await using scene = supervise({ restart: 'temporary' });
    await scene.server.ready();
    scene.newest.end(clean);
    await until(() => scene.server.status.state === 'stopped');
    assert.equal(await call(scene.server), 'first');
  });
});
