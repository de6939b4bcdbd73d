import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { ServerConfig } from '#config';
import { type Clock, type Code, HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { until } from '#helpers/hub';
import {
  decideRestart,
  historyAfterRun,
  noRestarts,
} from '../../../hub/servers/lifecycle/restart-policy.ts';
import { configFor, supervise } from '../scripted.ts';

const minuteMs = 60_000;

/** Decides about one failure after the other, with the history of the earlier ones. */
function createRestarts(config: ServerConfig, clock: Pick<Clock, 'now' | 'monotonic'>) {
  let history = noRestarts;
  return {
    ran(durationMs: number) {
      history = historyAfterRun(history, durationMs);
    },
    after(error: unknown, why: string) {
      const decided = decideRestart(
        config,
        history,
        { error, why, isClean: false },
        { now: clock.now(), monotonicMs: clock.monotonic(), random: 0 },
      );
      history = decided.history;
      return decided;
    },
  };
}

/** Returns the states of a server that may be restarted once, and exits after `runMs` in each run. */
function statesOf(runMs: number, runs: number): readonly string[] {
  const clock = createManualClock();
  const restarts = createRestarts(configFor({ maxRestarts: 1, startTimeoutMs: minuteMs }), clock);
  return Array.from({ length: runs }, () => {
    clock.advance(runMs);
    restarts.ran(runMs);
    const { status, delayMs = 0 } = restarts.after(new Error('exited'), 'exited');
    clock.advance(delayMs);
    return `${status.state} ${delayMs}`;
  });
}

test('the restart counter and the delay are reset after each run of more than five minutes', () => {
  assert.deepEqual(statesOf(6 * minuteMs, 5), Array<string>(5).fill('backing_off 500'));
});

test('restarts after shorter runs are added up', () => {
  assert.deepEqual(statesOf(1 * minuteMs, 2), ['backing_off 500', 'failed 0']);
});

test('a server that ended by itself without a failure, and is given up, has the setting for that in its reason', () => {
  const moment = { now: 0, monotonicMs: 0, random: 0 };
  const given = configFor({ maxRestarts: 0 });
  const reasonOf = (isClean: boolean) => {
    const failure = { error: new Error('exited'), why: 'exited', isClean };
    const { status } = decideRestart(given, noRestarts, failure, moment);
    return status.state === 'failed' ? status.why : status.state;
  };
  const reason = 'gave up after 0 restarts: exited';
  assert.equal(reasonOf(false), reason);
  assert.equal(
    reasonOf(true),
    `${reason}. If it ends by itself when idle, set "restart": "transient"`,
  );
});

test('a server that fails after an outage of the engine is restarted as soon as without the outage', () => {
  const restarts = createRestarts(configFor({}), createManualClock());
  for (let attempt = 0; attempt < 10; attempt++)
    restarts.after(new HubError('HUB_ENGINE_UNREACHABLE', 'away'), 'away');
  const delays = [1, 2].map(() => restarts.after(new Error('exited'), 'exited').delayMs);
  assert.deepEqual(delays, [500, 1_000]);
});

test('an unreachable engine is retried every two seconds at most, a remote server every thirty', () => {
  const last = (code: Code) => {
    const restarts = createRestarts(configFor({}), createManualClock());
    const waits = Array.from({ length: 10 }, () => {
      const { status, delayMs } = restarts.after(new HubError(code, 'away'), 'away');
      assert.equal(status.state, 'unreachable');
      return delayMs;
    });
    return waits.at(-1);
  };
  assert.equal(last('HUB_ENGINE_UNREACHABLE'), 2_000);
  assert.equal(last('HUB_REMOTE_UNREACHABLE'), 30_000);
});

test('a server that its runtime has ended finally is failed, with the reason wherever it is shown', async () => {
  await using scene = supervise();
  await scene.server.ready();
  const refusal = new HubError('HUB_VOLUMES_FULL', 'scripted: its volumes hold too much');
  scene.newest.end({ detail: refusal.message, refusal });
  await until(() => scene.server.status.state === 'failed');
  const { status, lastError } = scene.server;
  assert.equal(status.state === 'failed' && status.why, refusal.message);
  assert.equal(lastError?.message, refusal.message);
  assert.equal(scene.launched.length, 1);
});

test('a server that died is restarted after its delay, and not before', async () => {
  const clock = createManualClock();
  await using scene = supervise({}, { clock });
  await scene.server.ready();
  scene.newest.end({ code: 1, detail: 'exited with code 1' });
  await until(() => scene.server.status.state === 'backing_off');
  clock.advance(100);
  await new Promise(setImmediate);
  assert.equal(scene.launched.length, 1);
  clock.advance(minuteMs);
  await until(() => scene.server.status.state === 'running');
  assert.equal(scene.launched.length, 2);
});

test('a start without an answer is tried in the other era shortly before it times out', async () => {
  const clock = createManualClock();
  await using scene = supervise(
    { startTimeoutMs: 20_000, restart: 'temporary' },
    { clock, script: () => ({ isBroken: true }) },
  );
  scene.server.start();
  await until(() => scene.launched.length === 1 && scene.newest.methods.includes('initialize'));
  clock.advance(17_999);
  assert.deepEqual(scene.newest.methods, ['initialize']);
  clock.advance(1);
  assert.deepEqual(scene.newest.methods, ['initialize', 'server/discover']);
  clock.advance(1_999);
  await new Promise(setImmediate);
  assert.equal(scene.server.status.state, 'starting');
  clock.advance(1);
  await until(() => scene.server.status.state === 'failed');
});
