import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { collectGarbage, createRelief, createIdleGc, queuedTick } from '../../hub/app/idle-gc.ts';

const log = {
  trace() {},
  debug() {},
  info() {},
  warn() {},
  error() {},
  child: () => log,
};

function scene(states: readonly ('starting' | 'running')[]) {
  const clock = createManualClock();
  const status = states.map(state => ({ status: { state } }));
  const calls = { last: 0, collected: 0 };
  const settling = createIdleGc({
    servers: { all: status },
    lastCall: () => calls.last,
    collect: async () => void calls.collected++,
    clock,
    log,
  });
  return { clock, status, calls, settling };
}

test('frees memory once, when there was no call for three seconds', async () => {
  const { clock, calls, settling } = scene(['running']);
  await settling.start(new AbortController().signal);
  clock.advance(2_999);
  calls.last = 1;
  clock.advance(1);
  assert.equal(calls.collected, 0, 'somebody called meanwhile');
  clock.advance(3_000);
  assert.equal(calls.collected, 1);
  clock.advance(3_600_000);
  assert.equal(calls.collected, 1, 'never again');
});

test('waits for servers that are starting', async () => {
  const { clock, status, calls, settling } = scene(['running', 'starting']);
  await settling.start(new AbortController().signal);
  clock.advance(9_000);
  assert.equal(calls.collected, 0);
  status[1] = { status: { state: 'running' } };
  clock.advance(3_000);
  assert.equal(calls.collected, 1);
});

test('waits three seconds after the last server has started', async () => {
  const { clock, status, calls, settling } = scene(['starting']);
  await settling.start(new AbortController().signal);
  clock.advance(2_999);
  status[0] = { status: { state: 'running' } };
  clock.advance(2_000);
  assert.equal(calls.collected, 0, 'what the start left is still in use');
  clock.advance(1_000);
  assert.equal(calls.collected, 1);
});

test('does nothing more once it is stopped', async () => {
  const { clock, calls, settling } = scene([]);
  await settling.start(new AbortController().signal);
  await settling.stop();
  clock.advance(60_000);
  assert.equal(calls.collected, 0);
});

test('collects an object without references', async () => {
  let kept: object | undefined = { bytes: Buffer.alloc(1000) };
  const weak = new WeakRef(kept);
  kept = undefined;
  // An object stays alive until the end of the turn in which its WeakRef was created.
  await new Promise(resolve => setImmediate(resolve));
  await collectGarbage();
  assert.equal(weak.deref(), undefined);
});

test('keeps an object that nextTick queues, and its shape', async () => {
  const [kept, next] = [await queuedTick(), await queuedTick()];
  assert.notEqual(kept, next);
  assert.deepEqual(Reflect.ownKeys(kept), Reflect.ownKeys(next));
  assert.ok('callback' in kept && 'args' in kept, Reflect.ownKeys(kept).map(String).join(', '));
});

test('a burst that outlasts the collections of the one before it gets collections of its own', async () => {
  const clock = createManualClock();
  let collected = 0;
  const relieve = createRelief({ collect: async () => void collected++, clock, log });
  relieve();
  clock.advance(10_000);
  assert.equal(collected, 2);
  relieve();
  clock.advance(1_000);
  assert.equal(collected, 3);
  clock.advance(11_000);
  assert.equal(collected, 6);
  clock.advance(60_000);
  assert.equal(collected, 6);
});
