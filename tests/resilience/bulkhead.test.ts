import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'vitest';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import { createBulkhead } from '#resilience';

function scene(maxConcurrent: number, maxQueued: number) {
  const clock = createManualClock();
  const bulkhead = createBulkhead({ server: 'files', maxConcurrent, maxQueued }, clock);
  const served: string[] = [];
  const wait = async (owner: string, signal?: AbortSignal) => {
    await bulkhead.wait(owner, 5_000, signal);
    served.push(owner);
  };
  return { clock, bulkhead, served, wait };
}

test('has as many places as configured, and one more for each that is freed', () => {
  const { bulkhead } = scene(2, 0);
  assert.deepEqual([bulkhead.enter(), bulkhead.enter(), bulkhead.enter()], [true, true, false]);
  bulkhead.leave();
  assert.deepEqual([bulkhead.enter(), bulkhead.enter()], [true, false]);
  assert.deepEqual(bulkhead.snapshot(), { active: 2, queued: 0 });
});

test('a full queue refuses at once, with the server, the limits and the setting to raise', async () => {
  const { bulkhead } = scene(1, 1);
  bulkhead.enter();
  const waits = bulkhead.wait('a', 5_000);
  await assert.rejects(bulkhead.wait('b', 5_000), {
    code: 'HUB_SERVER_BUSY',
    message:
      'server "files" has 1 calls under way and 1 waiting, which is its limit: try again later, or raise its max_concurrent_calls or max_queued_calls',
    data: {
      server: 'files',
      retryable: true,
      retryAfterMs: 1_000,
      maxConcurrent: 1,
      maxQueued: 1,
    },
  });
  assert.deepEqual(bulkhead.snapshot(), { active: 1, queued: 1 });
  bulkhead.leave();
  await waits;
  assert.deepEqual(bulkhead.snapshot(), { active: 1, queued: 0 });
});

test('a freed place goes to a waiting call, not to a new one', async () => {
  const { bulkhead, wait, served } = scene(1, 5);
  bulkhead.enter();
  const waits = wait('first');
  bulkhead.leave();
  assert.equal(bulkhead.enter(), false);
  await waits;
  assert.deepEqual(served, ['first']);
});

test('a session with a thousand calls delays a waiting call of another by one turn at most', async () => {
  const { bulkhead, wait, served } = scene(1, 2_000);
  bulkhead.enter();
  const waits = Array.from({ length: 1_000 }, () => wait('greedy'));
  waits.push(wait('modest'), wait('third'), wait('third'));
  for (let turn = 0; turn < 5; turn++) {
    bulkhead.leave();
    await nextTurn();
  }
  assert.deepEqual(served, ['greedy', 'modest', 'third', 'greedy', 'third']);
  for (let turn = 0; turn < 998; turn++) bulkhead.leave();
  await Promise.all(waits);
  assert.deepEqual(bulkhead.snapshot(), { active: 1, queued: 0 });
});

test('in a full queue the session with most calls loses one for a session with fewer, down to equal shares', async () => {
  const { bulkhead, served } = scene(2, 4);
  const refused: string[] = [];
  const come = (owner: string, number: number) =>
    void bulkhead.wait(owner, 5_000).then(
      () => served.push(`${owner}${number}`),
      (error: unknown) => {
        assert.ok(error instanceof HubError && error.code === 'HUB_SERVER_BUSY');
        assert.equal(error.data?.['retryable'], true);
        refused.push(`${owner}${number}`);
      },
    );
  for (let call = 1; call <= 6; call++) come('a', call);
  for (let call = 1; call <= 3; call++) {
    come('b', call);
    assert.deepEqual(bulkhead.snapshot(), { active: 2, queued: 4 }, 'the bound is exact');
    await nextTurn();
  }
  assert.deepEqual(refused, ['a6', 'a5', 'b3'], 'the newest gives way, and none to its own');
  come('c', 1);
  await nextTurn();
  assert.deepEqual(refused.slice(3), ['a4']);
  for (let turn = 0; turn < 6; turn++) bulkhead.leave();
  await nextTurn();
  assert.deepEqual(served, ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
  assert.deepEqual(bulkhead.snapshot(), { active: 0, queued: 0 });
});

test('a wait ends at its deadline, and its place in the queue is freed', async () => {
  const { clock, bulkhead } = scene(1, 1);
  bulkhead.enter();
  const waits = assert.rejects(bulkhead.wait('a', 5_000), {
    code: 'HUB_SERVER_BUSY',
    message: /had none of its 1 places free for 5000 ms.*raise its max_concurrent_calls/,
    data: { retryable: true, retryAfterMs: 1_000, server: 'files', maxConcurrent: 1, maxQueued: 1 },
  });
  clock.advance(5_000);
  await waits;
  assert.deepEqual(bulkhead.snapshot(), { active: 1, queued: 0 });
  bulkhead.leave();
  assert.equal(bulkhead.enter(), true);
});

test('a cancelled call leaves the queue, from its front, its middle and its end', async () => {
  const { clock, bulkhead, wait, served } = scene(1, 10);
  bulkhead.enter();
  const aborts = Array.from({ length: 5 }, () => new AbortController());
  const waits = aborts.map((abort, index) => wait(index < 3 ? 'a' : 'b', abort.signal));
  for (const index of [0, 2, 3]) aborts[index]?.abort();
  for (const index of [0, 2, 3])
    await assert.rejects(waits[index] ?? Promise.resolve(), { code: 'HUB_CALL_CANCELLED' });
  assert.equal(bulkhead.snapshot().queued, 2);
  bulkhead.leave();
  bulkhead.leave();
  await Promise.all([waits[1], waits[4]]);
  assert.deepEqual(served, ['a', 'b']);
  assert.equal(clock.waiting, 0, 'no deadline is left');
  await assert.rejects(bulkhead.wait('c', 1, AbortSignal.abort()), { code: 'HUB_CALL_CANCELLED' });
});

test('a call that is cancelled right after it got its place keeps it, and is counted once', async () => {
  const { bulkhead } = scene(1, 10);
  bulkhead.enter();
  const abort = new AbortController();
  const waits = bulkhead.wait('a', 5_000, abort.signal);
  bulkhead.leave();
  abort.abort();
  await waits;
  assert.deepEqual(bulkhead.snapshot(), { active: 1, queued: 0 });
});

test('all waiting calls are refused with the given error', async () => {
  const { clock, bulkhead, wait } = scene(1, 10);
  bulkhead.enter();
  const refused = ['a', 'a', 'b'].map(owner =>
    assert.rejects(wait(owner), { code: 'HUB_SERVER_DOWN' }),
  );
  bulkhead.refuseWaiting(new HubError('HUB_SERVER_DOWN', 'server "files" has exited'));
  await Promise.all(refused);
  assert.deepEqual(bulkhead.snapshot(), { active: 1, queued: 0 });
  assert.equal(clock.waiting, 0);
});

test('the counts stay right through ten thousand random calls that wait, leave and give up', async () => {
  const { clock, bulkhead } = scene(8, 64);
  let [seed, inside, most] = [7, 0, 0];
  const random = (below: number) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const ends: Promise<unknown>[] = [];
  const leaveSoon = () => {
    inside += 1;
    most = Math.max(most, inside);
    ends.push(
      nextTurn().then(() => {
        inside -= 1;
        bulkhead.leave();
      }),
    );
  };
  for (let call = 0; call < 10_000; call++) {
    if (bulkhead.enter()) leaveSoon();
    else {
      const abort = new AbortController();
      const owner = `owner ${random(5)}`;
      ends.push(bulkhead.wait(owner, 1 + random(50), abort.signal).then(leaveSoon, () => {}));
      if (random(4) === 0) queueMicrotask(() => abort.abort());
    }
    if (random(10) === 0) clock.advance(random(20));
    if (random(20) === 0) await nextTurn();
  }
  for (let seen = 0; seen < ends.length;) {
    seen = ends.length;
    await Promise.all(ends);
    await nextTurn();
  }
  assert.equal(most, 8);
  assert.deepEqual(bulkhead.snapshot(), { active: 0, queued: 0 });
  assert.equal(clock.waiting, 0);
});
