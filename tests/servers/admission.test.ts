import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError } from '#core';
import { admitted, admittedAtOnce } from '#helpers/calls';
import { createManualClock } from '#helpers/clock';
import { createMemorySharing, createSharedBreaker } from '#resilience';
import { breakerKeyOf } from '#servers';
import { type CallPermit, createAdmission } from '../../hub/servers/admission.ts';
import { call, configFor, keeps, supervise } from './scripted.ts';

function openGate(
  more: {
    readonly maxConcurrentCalls?: number;
    readonly maxQueuedCalls?: number;
    readonly origin?: string;
  } = {},
) {
  const clock = createManualClock();
  const config = configFor({ callTimeoutMs: 1_000, ...more });
  let revived = 0;
  const gate = createAdmission(config, {
    clock,
    breaker: createSharedBreaker(
      breakerKeyOf(config),
      { failureThreshold: 3, recoveryMs: 30_000 },
      { clock, sharing: createMemorySharing(clock)() },
    ),
    revive: () => void revived++,
  });
  return {
    clock,
    gate,
    get revived() {
      return revived;
    },
    /** Enters a call that is admitted at once. */
    enter: (owner = 'ada'): CallPermit => admittedAtOnce(gate, owner),
    /** Enters a call that must wait. Its outcome is appended to `order`. */
    wait(
      owner: string,
      order: string[],
      begun: (leave: CallPermit) => void = () => {},
    ): { readonly cancel: () => void; readonly over: Promise<void> } {
      const entered = gate.enter(owner);
      if (!('permit' in entered)) return assert.fail('it does not wait');
      const over = entered.permit.then(
        leave => {
          order.push(owner);
          begun(leave);
        },
        (error: unknown) => void order.push(error instanceof HubError ? error.code : String(error)),
      );
      return { cancel: () => entered.cancel(), over };
    },
    state: () => gate.snapshot().breaker?.['state'],
  };
}

const errorOf = (code: 'HUB_CALL_TIMEOUT' | 'HUB_SERVER_DOWN' | 'HUB_CALL_CANCELLED') =>
  new HubError(code, `it was ${code}`);

describe('a breaker counts', () => {
  test('each call that times out: the third opens it', () => {
    const { enter, gate, state } = openGate();
    for (let call = 1; call <= 3; call++) {
      assert.equal(state(), 'closed');
      enter().over(errorOf('HUB_CALL_TIMEOUT'), true);
    }
    assert.equal(state(), 'open');
    assert.throws(() => gate.enter('ada'), {
      code: 'HUB_BREAKER_OPEN',
      data: { server: 'scripted', retryable: true, retryAfterMs: 30_000 },
    });
  });

  test('the death of a server once, however many calls it fails', () => {
    const { enter, gate, state } = openGate();
    const death = errorOf('HUB_SERVER_DOWN');
    const calls = Array.from({ length: 50 }, () => enter());
    for (const call of calls) call.over(death, true);
    assert.equal(state(), 'closed');
    assert.equal(gate.snapshot().breaker?.['failures'], 1);
    for (let again = 0; again < 2; again++) enter().over(errorOf('HUB_SERVER_DOWN'), true);
    assert.equal(state(), 'open');
  });

  test('no call that was cancelled, that the server answered or that was never sent', () => {
    const { enter, gate } = openGate();
    for (let call = 0; call < 5; call++) {
      enter().over(errorOf('HUB_CALL_CANCELLED'), true);
      enter().over(errorOf('HUB_SERVER_DOWN'), false);
      enter().over(new Error('a bug'), true);
    }
    assert.equal(gate.snapshot().breaker?.['failures'], 0);
    enter().over(errorOf('HUB_CALL_TIMEOUT'), true);
    enter().over(errorOf('HUB_CALL_TIMEOUT'), true);
    enter().over(undefined, true);
    assert.equal(gate.snapshot().breaker?.['failures'], 0, 'an answer starts the count afresh');
  });

  test('no call that was in flight when the server was stopped', async () => {
    const clock = createManualClock();
    const breaker = createSharedBreaker(
      'scripted',
      { failureThreshold: 1, recoveryMs: 30_000 },
      { clock, sharing: createMemorySharing(clock)() },
    );
    await using scene = supervise({}, { breakerOf: () => breaker });
    const { server } = scene;
    const inFlight = async () => {
      await server.ready();
      const leave = admittedAtOnce(server.admission, 'ada');
      const one = scene.newest;
      const failed = call(server, { hold: true }).catch((error: unknown) => error);
      await keeps(one);
      return { one, over: async () => leave.over(await failed, true) };
    };
    const stopped = await inFlight();
    await server.stop(true);
    await stopped.over();
    assert.equal(breaker.state, 'closed');
    server.start();
    const died = await inFlight();
    died.one.end({ code: 1, detail: 'exited with code 1' });
    await died.over();
    assert.equal(breaker.state, 'open', 'one that dies counts');
  });

  test('nothing once the gate is closed, and leaves no timer', () => {
    const { clock, enter, gate } = openGate();
    const calls = Array.from({ length: 3 }, () => enter());
    gate.close();
    for (const call of calls) call.over(errorOf('HUB_CALL_TIMEOUT'), true);
    assert.equal(clock.waiting, 0);
    assert.equal(gate.snapshot().active, 0);
  });
});

describe('an open breaker', () => {
  test('admits one call as a trial after its time, which starts a failed server', async () => {
    const scene = openGate();
    for (let call = 1; call <= 3; call++) scene.enter().over(errorOf('HUB_CALL_TIMEOUT'), true);
    scene.clock.advance(30_000);
    const trial = admitted(scene.gate, 'ada');
    assert.throws(() => scene.gate.enter('grace'), {
      code: 'HUB_BREAKER_OPEN',
    });
    const leave = await trial;
    assert.equal(scene.revived, 1);
    leave.over(undefined, true);
    assert.equal(scene.state(), 'closed');
    scene.enter().over(undefined, true);
  });

  test('refuses the calls that wait for a place', async () => {
    const scene = openGate({ maxConcurrentCalls: 1 });
    for (let call = 1; call <= 2; call++) scene.enter().over(errorOf('HUB_CALL_TIMEOUT'), true);
    const last = scene.enter();
    const order: string[] = [];
    const waits = ['ada', 'grace'].map(owner => scene.wait(owner, order));
    last.over(errorOf('HUB_CALL_TIMEOUT'), true);
    await Promise.all(waits.map(({ over }) => over));
    assert.deepEqual(order, ['HUB_BREAKER_OPEN', 'HUB_BREAKER_OPEN']);
    assert.deepEqual([scene.gate.snapshot().active, scene.gate.snapshot().queued], [0, 0]);
  });

  test('is closed if the config launches another program, and stays open otherwise', () => {
    const scene = openGate({ origin: 'one' });
    for (let call = 1; call <= 3; call++) scene.enter().over(errorOf('HUB_CALL_TIMEOUT'), true);
    scene.gate.configure(configFor({ origin: 'one', callTimeoutMs: 2_000 }));
    assert.equal(scene.state(), 'open');
    scene.gate.configure(configFor({ origin: 'two' }));
    assert.equal(scene.state(), 'closed');
    scene.enter().over(undefined, true);
  });

  test('is closed by a reset', () => {
    const scene = openGate();
    for (let call = 1; call <= 3; call++) scene.enter().over(errorOf('HUB_CALL_TIMEOUT'), true);
    scene.gate.reset();
    scene.enter().over(undefined, true);
    assert.equal(scene.state(), 'closed');
  });
});

describe('calls that wait for a place', () => {
  test('take turns between their sessions', async () => {
    const scene = openGate({ maxConcurrentCalls: 1 });
    const order: string[] = [];
    const first = scene.enter();
    const waits = ['ada', 'ada', 'ada', 'grace'].map(owner =>
      scene.wait(owner, order, leave => leave.over(undefined, true)),
    );
    assert.equal(scene.gate.snapshot().queued, 4);
    first.over(undefined, true);
    await Promise.all(waits.map(({ over }) => over));
    assert.deepEqual(order, ['ada', 'grace', 'ada', 'ada']);
  });

  test('are refused after the time limit of a call', async () => {
    const scene = openGate({ maxConcurrentCalls: 1 });
    scene.enter();
    const order: string[] = [];
    const { over } = scene.wait('ada', order);
    scene.clock.advance(1_000);
    await over;
    assert.deepEqual(order, ['HUB_SERVER_BUSY']);
    assert.equal(scene.gate.snapshot().queued, 0);
  });

  test('have the rest of their time limit', async () => {
    const scene = openGate({ maxConcurrentCalls: 1 });
    const leave = scene.enter();
    let waitedMs: number | undefined;
    const { over } = scene.wait('ada', [], given => (waitedMs = given.waitedMs));
    scene.clock.advance(700);
    leave.over(undefined, true);
    await over;
    assert.equal(waitedMs, 700);
  });

  test('are refused at once if the queue is full', async () => {
    const scene = openGate({ maxConcurrentCalls: 1, maxQueuedCalls: 1 });
    scene.enter();
    const order: string[] = [];
    scene.wait('ada', order);
    await scene.wait('grace', order).over;
    assert.deepEqual(order, ['HUB_SERVER_BUSY']);
  });

  test('can be cancelled, and leave the queue', async () => {
    const scene = openGate({ maxConcurrentCalls: 1 });
    const leave = scene.enter();
    const order: string[] = [];
    const ada = scene.wait('ada', order);
    const grace = scene.wait('grace', order);
    ada.cancel();
    await ada.over;
    leave.over(undefined, true);
    await grace.over;
    assert.deepEqual(order, ['HUB_CALL_CANCELLED', 'grace']);
  });

  test('have the limits of a changed config, even those that were queued before', async () => {
    const scene = openGate({ maxConcurrentCalls: 1 });
    const [order, leaves]: [string[], CallPermit[]] = [[], [scene.enter()]];
    const wait = (owner: string) => scene.wait(owner, order, leave => leaves.push(leave)).over;
    const [ada, , grace] = [wait('ada'), wait('ada'), wait('grace')];
    scene.gate.configure(configFor({ maxConcurrentCalls: 3 }));
    await Promise.all([ada, grace]);
    assert.deepEqual(order, ['ada', 'grace']);
    assert.deepEqual([scene.gate.snapshot().active, scene.gate.snapshot().queued], [3, 1]);
    scene.gate.configure(configFor({ maxConcurrentCalls: 2 }));
    for (const leave of leaves.slice(0, 1)) leave.over(undefined, true);
    assert.deepEqual([scene.gate.snapshot().active, scene.gate.snapshot().queued], [2, 1]);
    for (const leave of leaves.slice(1, 2)) leave.over(undefined, true);
    await new Promise(setImmediate);
    assert.deepEqual(order, ['ada', 'grace', 'ada']);
    assert.deepEqual([scene.gate.snapshot().active, scene.gate.snapshot().queued], [2, 0]);
  });

  test('are refused by an open breaker, even those queued before a changed config', async () => {
    const scene = openGate({ maxConcurrentCalls: 1 });
    for (let call = 1; call <= 2; call++) scene.enter().over(errorOf('HUB_CALL_TIMEOUT'), true);
    const last = scene.enter();
    const order: string[] = [];
    const { over } = scene.wait('ada', order);
    scene.gate.configure(configFor({ maxConcurrentCalls: 1, maxQueuedCalls: 5 }));
    last.over(errorOf('HUB_CALL_TIMEOUT'), true);
    await over;
    assert.deepEqual(order, ['HUB_BREAKER_OPEN']);
  });
});

test('admitted calls allocate no object each while the breaker is closed', () => {
  const { enter } = openGate();
  assert.equal(enter(), enter('grace'));
});
