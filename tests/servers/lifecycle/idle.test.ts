import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { until } from '#helpers/hub';
import { watchIdle } from '../../../hub/servers/lifecycle/idle.ts';
import { call, configFor, keeps, supervise } from '../scripted.ts';

function watch(idleStopMs: number | undefined) {
  const clock = createManualClock();
  const scene = { idleStopMs, calls: 0, isBusy: false, idleAt: [] as number[] };
  const watched = watchIdle(() => scene, {
    clock,
    calls: () => scene.calls,
    isBusy: () => scene.isBusy,
    idle: () => void scene.idleAt.push(clock.monotonic()),
  });
  return Object.assign(scene, { clock, watched });
}

describe('the idle check', () => {
  test('ends a server after its idle time, once', () => {
    const scene = watch(60_000);
    scene.clock.advance(59_999);
    assert.deepEqual(scene.idleAt, []);
    scene.clock.advance(60_000);
    assert.deepEqual(scene.idleAt, [60_000]);
    assert.equal(scene.clock.waiting, 0);
  });

  test('never ends a server early, and soon after its idle time', () => {
    const scene = watch(60_000);
    for (let call = 1; call <= 10; call++) {
      scene.clock.advance(50_000);
      scene.calls++;
    }
    const lastCallMs = scene.clock.monotonic();
    scene.clock.advance(200_000);
    const [idleAt = 0] = scene.idleAt;
    assert.ok(idleAt - lastCallMs >= 60_000 && idleAt - lastCallMs <= 75_000);
  });

  test('does not end a server with a waiting call', () => {
    const scene = watch(60_000);
    scene.isBusy = true;
    scene.clock.advance(600_000);
    assert.deepEqual(scene.idleAt, []);
    scene.isBusy = false;
    scene.clock.advance(75_000);
    assert.equal(scene.idleAt.length, 1);
  });

  test('does nothing without an idle time, until one is set', () => {
    const scene = watch(undefined);
    assert.equal(scene.clock.waiting, 0);
    scene.clock.advance(600_000);
    scene.idleStopMs = 1_000;
    scene.watched.retime();
    assert.equal(scene.clock.waiting, 1);
    scene.watched[Symbol.dispose]();
    assert.equal(scene.clock.waiting, 0);
    scene.watched.retime();
    scene.clock.advance(250);
    assert.equal(scene.idleAt.length, 1, 'what it had nothing to do before counts');
  });
});

describe('a server with "idle_stop"', () => {
  test('is stopped, keeps its lists, and is started by the next call', async () => {
    await using scene = supervise({ idleStopMs: 40 });
    await call(scene.server);
    await until(() => scene.server.status.state === 'stopped');
    assert.deepEqual(scene.server.status, { state: 'stopped', byHand: false });
    assert.equal(scene.alive.length, 0);
    assert.equal(scene.server.listing.tool[0]?.key, 'work');
    assert.equal(await call(scene.server), 'first');
    assert.equal(scene.launched.length, 2);
    assert.equal(scene.server.restarts, 0);
    assert.equal(scene.server.lastError, undefined);
  });

  test('is not stopped during a call, or while a client listens', async () => {
    let isHeard = false;
    const clock = createManualClock();
    await using scene = supervise(
      { idleStopMs: 20 },
      { clock, instances: { count: () => 0, isHeard: () => isHeard } },
    );
    await scene.server.ready();
    const slow = call(scene.server, { hold: true });
    await keeps(scene.newest);
    clock.advance(80);
    assert.equal(scene.newest.isAlive, true);
    isHeard = true;
    scene.newest.release();
    await slow;
    clock.advance(80);
    assert.equal(scene.newest.isAlive, true);
    isHeard = false;
    clock.advance(80);
    await until(() => !scene.newest.isAlive);
  });

  test('that is called while it is being stopped is started again for the call', async () => {
    await using scene = supervise({ idleStopMs: 20 });
    await scene.server.ready();
    const calls: Promise<string>[] = [];
    using _ = scene.server.changed(({ state }) => {
      if (state === 'stopping') calls.push(call(scene.server));
    });
    await until(() => calls.length > 0);
    assert.equal(await calls[0], 'first');
  });

  test('uses a changed idle time at once', async () => {
    await using scene = supervise({ idleStopMs: 3_600_000 });
    await scene.server.ready();
    await scene.server.reconfigure(configFor({ idleStopMs: 20 }), false);
    await until(() => scene.server.status.state === 'stopped');
  });
});
