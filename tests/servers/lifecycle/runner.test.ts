import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import type { ServerConfig } from '#config';
import { HubError, systemClock } from '#core';
import { admitted } from '#helpers/calls';
import { until } from '#helpers/hub';
import { createMemorySharing, createSharedBreaker } from '#resilience';
import { type Server, restartNow } from '#servers';
import { call, configFor, keeps, supervise } from '../scripted.ts';

const second = configFor({ description: 'second' });
const third = configFor({ description: 'third' });
const isExclusive = () => true;

/** Creates a gate that is open until `hold` is called, and again after `open`. */
function createHold() {
  const held = Promise.withResolvers<void>();
  let isHeld = false;
  return {
    gate: async () => {
      if (isHeld) await held.promise;
    },
    hold: () => void (isHeld = true),
    open() {
      isHeld = false;
      held.resolve();
    },
  };
}

describe('a change that needs no new process', () => {
  test('applies to the running process', async () => {
    await using scene = supervise();
    await scene.server.ready();
    await scene.server.reconfigure(configFor({ callTimeoutMs: 7 }), false);
    assert.equal(scene.server.config.callTimeoutMs, 7);
    assert.equal(scene.launched.length, 1);
    assert.equal(scene.newest.isAlive, true);
  });

  test('starts a server that now starts with the hub, unless it was stopped by hand', async () => {
    await using scene = supervise({ autoStart: false });
    await scene.server.reconfigure(configFor({ autoStart: true }), false);
    await scene.server.ready();
    await scene.server.stop(true);
    await scene.server.reconfigure(configFor({ autoStart: false }), false);
    await scene.server.reconfigure(configFor({ autoStart: true }), false);
    assert.deepEqual(scene.server.status, { state: 'stopped', byHand: true });
  });
});

describe('a server that has failed', () => {
  test('starts again with the new start timeout, and with more restarts', async () => {
    const was = { startTimeoutMs: 30, maxRestarts: 0 };
    const script = ({ startTimeoutMs, maxRestarts }: ServerConfig) => ({
      isBroken: startTimeoutMs === was.startTimeoutMs && maxRestarts === was.maxRestarts,
    });
    for (const remedy of [{ startTimeoutMs: 1_000 }, { maxRestarts: 3 }]) {
      const clock = systemClock;
      const breaker = createSharedBreaker(
        'scripted',
        { failureThreshold: 1, recoveryMs: 60_000 },
        { clock, sharing: createMemorySharing(clock)() },
      );
      await using scene = supervise(was, { script, breakerOf: () => breaker });
      scene.server.start();
      await until(() => scene.server.status.state === 'failed');
      const leave = await admitted(scene.server.admission, 'ada');
      leave.over(new HubError('HUB_SERVER_START_FAILED', 'it did not start'), false);
      assert.equal(breaker.state, 'open');
      await scene.server.reconfigure(configFor({ ...was, ...remedy }), false);
      assert.equal(breaker.state, 'closed', 'what it has failed at is not held against it');
      assert.equal(scene.server.status.state, 'starting', JSON.stringify(remedy));
      await until(() => scene.server.status.state === 'running');
    }
  });

  test('and was then stopped by hand stays stopped', async () => {
    await using scene = supervise(
      { startTimeoutMs: 30, maxRestarts: 0 },
      { script: () => ({ isBroken: true }) },
    );
    scene.server.start();
    await until(() => scene.server.status.state === 'failed');
    await scene.server.stop(true);
    await scene.server.reconfigure(configFor({ startTimeoutMs: 40 }), false);
    assert.deepEqual(scene.server.status, { state: 'stopped', byHand: true });
  });
});

describe('a change that needs a new process', () => {
  test('starts it beside the old one, which answers its calls before it ends', async () => {
    await using scene = supervise();
    await scene.server.ready();
    const [old] = scene.launched;
    assert.ok(old);
    const before = call(scene.server, { hold: true });
    await keeps(old);
    await scene.server.reconfigure(second, true);
    assert.equal(scene.alive.length, 2);
    assert.equal(scene.newest.variant, 'next');
    assert.equal(await call(scene.server), 'second');
    old.release();
    assert.equal(await before, 'first');
    await until(() => !old.isAlive);
    assert.deepEqual(scene.states, ['starting', 'running'], 'it has not been away');
    assert.equal(scene.server.restarts, 0);
  });

  test('that does not start keeps the old one serving, under its old config', async () => {
    await using scene = supervise(
      {},
      { script: ({ description }) => ({ isBroken: description === 'second' }) },
    );
    await scene.server.ready();
    await assert.rejects(scene.server.reconfigure({ ...second, startTimeoutMs: 50 }, true), {
      code: 'HUB_SERVER_START_FAILED',
    });
    assert.equal(await call(scene.server), 'first');
    assert.equal(scene.server.config.description, 'first');
    assert.equal(scene.alive.length, 1);
    assert.deepEqual(scene.states, ['starting', 'running']);
  });

  test('twice in a row ends with the last config, and only that', async () => {
    await using scene = supervise();
    await scene.server.ready();
    await Promise.all([
      scene.server.reconfigure(second, true),
      scene.server.reconfigure(third, true),
    ]);
    assert.equal(await call(scene.server), 'third');
    await until(() => scene.alive.length === 1);
    assert.deepEqual(
      scene.launched.map(({ variant }) => variant),
      [undefined, 'next', undefined],
    );
  });

  test('while it starts aborts that start, and waiting calls get the new one', async () => {
    const hold = createHold();
    hold.hold();
    await using scene = supervise({}, { gate: hold.gate });
    const waiting = call(scene.server);
    await until(() => scene.server.status.state === 'starting');
    await scene.server.reconfigure(second, true);
    hold.open();
    assert.equal(await waiting, 'second');
    assert.equal(scene.alive.length, 1);
  });

  test('after it has failed starts it again if it starts with the hub', async () => {
    const script = ({ description }: { readonly description: string | undefined }) => ({
      isBroken: description === 'first',
    });
    for (const autoStart of [true, false]) {
      await using scene = supervise(
        { restart: 'temporary', startTimeoutMs: 30, autoStart },
        { script },
      );
      scene.server.start();
      await until(() => scene.server.status.state === 'failed');
      await scene.server.reconfigure({ ...second, autoStart }, true);
      if (!autoStart) assert.equal(scene.server.status.state, 'stopped');
      if (autoStart) await until(() => scene.server.status.state === 'running');
      assert.equal(await call(scene.server), 'second');
    }
  });

  test('does not start a server that was stopped by hand', async () => {
    await using scene = supervise();
    await scene.server.ready();
    await scene.server.stop(true);
    await scene.server.reconfigure(second, true);
    assert.deepEqual(scene.server.status, { state: 'stopped', byHand: true });
    assert.equal(scene.launched.length, 1);
    scene.server.start();
    assert.equal(await call(scene.server), 'second');
  });
});

describe('a change of a server that must not run twice at the same time', () => {
  test('starts the new one when the old one has ended, and calls wait meanwhile', async () => {
    const hold = createHold();
    await using scene = supervise({}, { isExclusive, gate: hold.gate });
    await scene.server.ready();
    const [old] = scene.launched;
    assert.ok(old);
    const before = call(scene.server, { hold: true });
    await keeps(old);
    hold.hold();
    const changed = scene.server.reconfigure(second, true);
    await until(() => scene.server.status.state === 'starting');
    const meanwhile = call(scene.server);
    assert.equal(old.isAlive, true, 'it answers what it was asked');
    old.release();
    assert.equal(await before, 'first');
    await until(() => !old.isAlive);
    assert.equal(scene.launched.length, 1, 'nothing was launched beside it');
    hold.open();
    await changed;
    assert.equal(await meanwhile, 'second');
    assert.equal(scene.newest.variant, undefined);
    assert.equal(scene.server.restarts, 0);
  });

  test('that does not start restores the old one', async () => {
    await using scene = supervise(
      {},
      { isExclusive, script: ({ description }) => ({ isBroken: description === 'second' }) },
    );
    await scene.server.ready();
    await assert.rejects(scene.server.reconfigure({ ...second, startTimeoutMs: 50 }, true), {
      code: 'HUB_SERVER_START_FAILED',
    });
    assert.equal(await call(scene.server), 'first');
    assert.equal(scene.server.config.description, 'first');
    assert.equal(scene.alive.length, 1);
  });

  test('is cut short by a stop, and the new config applies', async () => {
    await using scene = supervise({}, { isExclusive });
    await scene.server.ready();
    const before = assert.rejects(call(scene.server, { hold: true }), {
      code: 'HUB_SERVER_DOWN',
    });
    await keeps(scene.newest);
    const changed = scene.server.reconfigure(second, true);
    await until(() => scene.server.status.state === 'starting');
    await scene.server.stop(true);
    await before;
    await changed;
    assert.equal(scene.alive.length, 0);
    assert.deepEqual(scene.server.status, { state: 'stopped', byHand: true });
    assert.equal(scene.server.config.description, 'second');
  });
});

describe('a call in flight fails', () => {
  const failureOf = async (end: (server: Server) => Promise<void>) => {
    await using scene = supervise();
    await scene.server.ready();
    const failed = call(scene.server, { hold: true }).catch((error: unknown) => error);
    await keeps(scene.newest);
    await end(scene.server);
    const error = await failed;
    assert.ok(error instanceof HubError);
    return [error.message, error.data.retryable];
  };

  test('for good with the remedy when its server is stopped by hand', async () => {
    assert.deepEqual(await failureOf(server => server.stop(true)), [
      'scripted is gone: it was stopped by hand. Start it with "agenthub start scripted"',
      false,
    ]);
  });

  test('for good when its server is disabled', async () => {
    const disabled = configFor({ enabled: false });
    assert.deepEqual(await failureOf(server => server.reconfigure(disabled, true)), [
      'scripted is gone: it is disabled in the config. Remove "disabled": true or "enabled": false from its entry to use it',
      false,
    ]);
  });

  test('and may be repeated when its server is restarted by hand', async () => {
    assert.deepEqual(await failureOf(restartNow), ['scripted is gone: it was stopped', true]);
  });
});

describe('while a successor starts', () => {
  test('a stop ends both, and the new config applies', async () => {
    const hold = createHold();
    await using scene = supervise({}, { gate: hold.gate });
    await scene.server.ready();
    hold.hold();
    const changed = scene.server.reconfigure(second, true);
    await until(() => scene.server.status.state === 'running');
    const stopped = scene.server.stop(true);
    hold.open();
    await stopped;
    assert.equal(scene.alive.length, 0, 'nothing is left when it is stopped');
    await changed;
    assert.deepEqual(scene.server.status, { state: 'stopped', byHand: true });
    scene.server.start();
    assert.equal(await call(scene.server), 'second');
  });

  test('a stop ends one that was launched and is in its handshake', async () => {
    await using scene = supervise(
      {},
      { script: ({ description }) => ({ isBroken: description === 'second' }) },
    );
    await scene.server.ready();
    const changed = scene.server.reconfigure({ ...second, startTimeoutMs: 10_000 }, true);
    await until(() => scene.launched.length === 2 && scene.newest.methods.length > 0);
    await scene.server.stop(false);
    assert.equal(scene.alive.length, 0);
    await changed;
  });

  test('the death of the old one makes the successor take over, which is not a restart', async () => {
    const hold = createHold();
    await using scene = supervise({}, { gate: hold.gate });
    await scene.server.ready();
    const [old] = scene.launched;
    hold.hold();
    const changed = scene.server.reconfigure(second, true);
    old?.end({ code: 1, detail: 'exited with code 1' });
    await until(() => scene.server.status.state === 'starting');
    const meanwhile = call(scene.server);
    hold.open();
    await changed;
    assert.equal(await meanwhile, 'second');
    assert.equal(scene.launched.length, 2);
    assert.equal(scene.server.restarts, 0);
    scene.newest.end({ code: 1, detail: 'exited with code 1' });
    await until(() => scene.server.restarts === 1 && scene.server.running !== undefined);
    assert.equal(await call(scene.server), 'second', 'it is supervised like any other');
  });

  test('the death of the old one and a failure of the successor restart the old one', async () => {
    const hold = createHold();
    await using scene = supervise(
      {},
      {
        gate: hold.gate,
        script: ({ description }) => ({ isBroken: description === 'second' }),
      },
    );
    await scene.server.ready();
    const [old] = scene.launched;
    hold.hold();
    const changed = assert.rejects(
      scene.server.reconfigure({ ...second, startTimeoutMs: 50 }, true),
    );
    old?.end({ code: 1, detail: 'exited with code 1' });
    hold.open();
    await changed;
    await until(() => scene.server.status.state === 'running');
    assert.equal(await call(scene.server), 'first');
    assert.equal(scene.alive.length, 1);
    assert.equal(scene.server.restarts, 1);
  });

  test('a close ends both', async () => {
    const hold = createHold();
    await using scene = supervise({}, { gate: hold.gate });
    await scene.server.ready();
    hold.hold();
    const changed = scene.server.reconfigure(second, true);
    const closed = scene.server.close('removed');
    hold.open();
    await Promise.all([closed, changed]);
    assert.equal(scene.alive.length, 0);
    await assert.rejects(scene.server.ready(), {
      code: 'HUB_SERVER_UNKNOWN',
      message: 'scripted was removed from the config',
    });
    await scene.server.reconfigure(third, true);
    assert.equal(scene.launched.length <= 2, true);
  });
});

describe('a server that is disabled and enabled', () => {
  test('is stopped, refuses calls, and is restarted', async () => {
    await using scene = supervise();
    await scene.server.ready();
    await scene.server.reconfigure(configFor({ enabled: false }), true);
    assert.equal(scene.server.status.state, 'stopped');
    assert.equal(scene.launched.length, 1, 'nothing is launched that is switched off');
    assert.equal(scene.alive.length, 0);
    await assert.rejects(scene.server.ready(), { code: 'HUB_SERVER_DISABLED' });
    await scene.server.reconfigure(second, true);
    await until(() => scene.server.status.state === 'running');
    assert.equal(await call(scene.server), 'second');
  });

  test('does not start by being enabled if it starts at its first call', async () => {
    await using scene = supervise({ enabled: false, autoStart: false });
    await scene.server.reconfigure({ ...second, autoStart: false }, true);
    assert.equal(scene.launched.length, 0);
    assert.equal(await call(scene.server), 'second');
  });
});

describe('a server that is started by hand only', () => {
  test('refuses calls until a person starts it, and again after it has ended', async () => {
    await using scene = supervise({ isManual: true });
    const { server } = scene;
    const refused = { code: 'HUB_SERVER_STOPPED', message: /is started by hand only/ };
    assert.deepEqual(server.status, { state: 'stopped', byHand: true });
    await assert.rejects(server.ready(), refused);
    server.start();
    await until(() => server.status.state === 'running');
    await server.ready();
    await server.stop(false);
    await assert.rejects(server.ready(), refused);
    assert.equal(scene.launched.length, 1);
  });

  test('starts at the first call once its entry says so', async () => {
    await using scene = supervise({ isManual: true });
    await scene.server.reconfigure(second, false);
    assert.deepEqual(scene.server.status, { state: 'stopped', byHand: false });
    assert.equal(await call(scene.server), 'second');
  });
});
