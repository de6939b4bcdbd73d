import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { type ManualClock, createManualClock } from '#helpers/clock';
import { until } from '#helpers/hub';
import { maxMisses, watchHealth } from '../../../hub/servers/lifecycle/health.ts';
import { call, configFor, keeps, supervise } from '../scripted.ts';

function watch(clock: ManualClock, intervalMs = 30_000) {
  const scene = { intervalMs, answers: true, isAtWork: false, asked: 0, deaths: [] as string[] };
  const watched = watchHealth(
    { intervalMs: () => scene.intervalMs },
    {
      clock,
      log: silent,
      random: () => 1,
      async ask() {
        scene.asked++;
        if (!scene.answers) throw new Error('no answer');
      },
      isAtWork: () => scene.isAtWork,
      dead: why => void scene.deaths.push(why),
    },
  );
  /** Advances the clock, and waits until pending checks are answered. */
  const pass = async (milliseconds: number) => {
    clock.advance(milliseconds);
    await new Promise(resolve => setImmediate(resolve));
  };
  return Object.assign(scene, { watched, pass });
}

describe('the health check of a server', () => {
  test('pings at each interval, and reports when and how fast it answered', async () => {
    const clock = createManualClock();
    const { watched, pass, ...scene } = watch(clock);
    assert.deepEqual(watched.health, { at: undefined, latencyMs: undefined, misses: 0 });
    await pass(30_000);
    assert.deepEqual(watched.health, { at: clock.now(), latencyMs: 0, misses: 0 });
    assert.equal(scene.deaths.length, 0);
    watched[Symbol.dispose]();
    assert.equal(clock.waiting, 0);
  });

  test('reports it as dead after three misses in a row, which come faster', async () => {
    const clock = createManualClock();
    const scene = watch(clock);
    scene.answers = false;
    await scene.pass(30_000);
    assert.equal(scene.watched.health.misses, 1);
    for (let miss = 2; miss <= maxMisses; miss++) await scene.pass(10_000);
    assert.equal(scene.deaths.length, 1);
    assert.match(scene.deaths[0] ?? '', /did not answer 3 times in a row, each within 10 s/);
    assert.equal(clock.waiting, 0, 'nothing is watched any more');
  });

  test('resets misses with the first answer', async () => {
    const scene = watch(createManualClock());
    scene.answers = false;
    await scene.pass(30_000);
    await scene.pass(10_000);
    assert.equal(scene.watched.health.misses, 2);
    scene.answers = true;
    await scene.pass(10_000);
    assert.equal(scene.watched.health.misses, 0);
    scene.answers = false;
    await scene.pass(30_000);
    assert.equal(scene.deaths.length, 0);
  });

  test('counts no miss while it works on a call', async () => {
    const scene = watch(createManualClock());
    scene.answers = false;
    scene.isAtWork = true;
    for (let asking = 0; asking < 10; asking++) await scene.pass(30_000);
    assert.equal(scene.watched.health.misses, 0);
    assert.ok(scene.asked >= 10);
    assert.equal(scene.deaths.length, 0);
  });

  test('uses a changed interval at once', async () => {
    const scene = watch(createManualClock());
    await scene.pass(20_000);
    scene.intervalMs = 1_000;
    scene.watched.retime();
    await scene.pass(1_000);
    assert.equal(scene.asked, 1);
    await scene.pass(1_000);
    assert.equal(scene.asked, 2);
  });

  test('reports nothing once it is disposed, even if an answer is on its way', async () => {
    const clock = createManualClock();
    const scene = watch(clock);
    scene.answers = false;
    clock.advance(30_000);
    scene.watched[Symbol.dispose]();
    await scene.pass(0);
    await scene.pass(100_000);
    assert.equal(scene.watched.health.misses, 0);
    assert.equal(clock.waiting, 0);
  });
});

describe('a server that does not answer', () => {
  test('is killed, its calls fail, and it is restarted', async () => {
    await using scene = supervise({ healthCheckIntervalMs: 20, callTimeoutMs: 10_000 });
    await scene.server.ready();
    const [mute] = scene.launched;
    mute?.mute();
    await until(() => scene.server.restarts === 1 && scene.server.running !== undefined);
    assert.equal(mute?.isAlive, false);
    assert.match(scene.server.lastError?.message ?? '', /did not answer 3 times in a row/);
    assert.equal(await call(scene.server), 'first');
  });

  test('is not killed while it works on a call', async () => {
    await using scene = supervise({ healthCheckIntervalMs: 5 });
    await scene.server.ready();
    const slow = call(scene.server, { hold: true });
    await keeps(scene.newest);
    scene.newest.mute();
    await until(() => scene.newest.methods.filter(method => method === 'ping').length >= 5);
    assert.equal(scene.server.health?.misses, 0);
    scene.newest.release();
    assert.equal(await slow, 'first');
    assert.equal(scene.launched.length, 1);
  });

  test('is pinged at the interval of a changed config', async () => {
    await using scene = supervise({ healthCheckIntervalMs: 3_600_000 });
    await scene.server.ready();
    await scene.server.reconfigure(configFor({ healthCheckIntervalMs: 5 }), false);
    await until(() => scene.newest.methods.includes('ping'));
  });
});
