import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { setImmediate as turn } from 'node:timers/promises';
import { describe, test } from 'vitest';
import {
  DeadlineExceeded,
  createAbortScope,
  sleep,
  unlessAborted,
  untilIdle,
  untilAborted,
  waitAtMost,
  within,
} from '#core';
import { createManualClock } from '#helpers/clock';

const listenersOf = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;
const never = () => new Promise<never>(() => {});

describe('an abort scope', () => {
  test('ends with the parent that aborts first, with its reason', () => {
    const [first, second] = [new AbortController(), new AbortController()];
    using scope = createAbortScope([first.signal, second.signal]);
    assert.equal(scope.signal.aborted, false);
    second.abort('second');
    first.abort('first');
    assert.equal(scope.signal.reason, 'second');
  });

  test('has ended if a parent has', () => {
    using scope = createAbortScope([AbortSignal.abort('before')]);
    assert.equal(scope.signal.reason, 'before');
  });

  test('ends at its deadline, and not before', () => {
    const clock = createManualClock();
    using scope = createAbortScope([], { clock, limitMs: 100 });
    clock.advance(99);
    assert.equal(scope.signal.aborted, false);
    clock.advance(1);
    assert.ok(scope.signal.reason instanceof DeadlineExceeded);
    assert.equal(scope.signal.reason.message, 'no answer within 100 ms');
  });

  test('ends at its deadline with the given reason', () => {
    const clock = createManualClock();
    using scope = createAbortScope([], { clock, limitMs: 100, reason: () => 'late' });
    clock.advance(100);
    assert.equal(scope.signal.reason, 'late');
  });

  test('can be ended directly', () => {
    using scope = createAbortScope([new AbortController().signal]);
    scope.abort('by hand');
    assert.equal(scope.signal.reason, 'by hand');
  });

  test('leaves no listeners and timers once it is disposed', () => {
    const clock = createManualClock();
    const parent = new AbortController();
    const scope = createAbortScope([parent.signal], { clock, limitMs: 100 });
    assert.equal(listenersOf(parent.signal), 1);
    scope[Symbol.dispose]();
    assert.equal(listenersOf(parent.signal), 0);
    assert.equal(clock.waiting, 0);
    parent.abort();
    clock.advance(1_000);
    assert.equal(scope.signal.aborted, false);
  });
});

describe('the wait for an abort', () => {
  test('ends when the signal aborts, and at once if it has', async () => {
    const controller = new AbortController();
    using wait = untilAborted(controller.signal);
    controller.abort();
    await wait.aborted;
    using late = untilAborted(controller.signal);
    await late.aborted;
  });

  test('leaves no listeners once it is disposed', () => {
    const { signal } = new AbortController();
    const wait = untilAborted(signal);
    assert.equal(listenersOf(signal), 1);
    wait[Symbol.dispose]();
    assert.equal(listenersOf(signal), 0);
  });
});

describe('work unless aborted', () => {
  test('returns its result, or throws its error', async () => {
    const { signal } = new AbortController();
    assert.equal(await unlessAborted(Promise.resolve(1), signal), 1);
    await assert.rejects(unlessAborted(Promise.reject(new Error('of its own')), signal), {
      message: 'of its own',
    });
    assert.equal(listenersOf(signal), 0);
  });

  test('rejects with the reason of the signal, even if it aborted before', async () => {
    const controller = new AbortController();
    const waiting = unlessAborted(never(), controller.signal);
    controller.abort(new Error('enough'));
    await assert.rejects(waiting, { message: 'enough' });
    await assert.rejects(unlessAborted(Promise.resolve(1), controller.signal), {
      message: 'enough',
    });
    assert.equal(listenersOf(controller.signal), 0);
  });
});

describe('work within a time', () => {
  test('returns its result and leaves no timer', async () => {
    const clock = createManualClock();
    const { signal } = new AbortController();
    assert.equal(await within(100, { clock, signal }, async () => 1), 1);
    assert.equal(clock.waiting, 0);
    assert.equal(listenersOf(signal), 0);
  });

  test('rejects at its deadline, whether or not it observes its signal', async () => {
    for (const work of [never, untilItEnds]) {
      const clock = createManualClock();
      const late = within(100, { clock }, work);
      clock.advance(100);
      await assert.rejects(late, DeadlineExceeded);
    }
  });

  test('rejects with the reason of its signal at once', async () => {
    const clock = createManualClock();
    const controller = new AbortController();
    const ended = within(100, { clock, signal: controller.signal }, untilItEnds);
    controller.abort(new Error('enough'));
    await assert.rejects(ended, { message: 'enough' });
    assert.equal(clock.waiting, 0);
  });

  test('does not begin if its signal has aborted', async () => {
    let begun = false;
    const work = async () => void (begun = true);
    const signal = AbortSignal.abort(new Error('before'));
    await assert.rejects(within(100, { clock: createManualClock(), signal }, work), {
      message: 'before',
    });
    assert.equal(begun, false);
  });
});

describe('sleep', () => {
  test('lasts for the given time', async () => {
    const clock = createManualClock();
    let isOver = false;
    const slept = sleep(100, { clock }).then(() => (isOver = true));
    clock.advance(99);
    await Promise.resolve();
    assert.equal(isOver, false);
    clock.advance(1);
    await slept;
  });

  test('ends when its signal aborts, and leaves no listeners', async () => {
    const clock = createManualClock();
    const controller = new AbortController();
    const slept = sleep(100, { clock, signal: controller.signal });
    controller.abort();
    await slept;
    await sleep(100, { clock, signal: controller.signal });
    assert.equal(clock.waiting, 0);
    assert.equal(listenersOf(controller.signal), 0);
  });
});

describe('a bounded wait for work', () => {
  test('has its result and leaves no timer', async () => {
    const clock = createManualClock();
    assert.equal(await waitAtMost(50, Promise.resolve('done'), clock), 'done');
    await assert.rejects(waitAtMost(50, Promise.reject(new Error('no')), clock), { message: 'no' });
    assert.equal(clock.waiting, 0);
  });

  test('has no result after its time', async () => {
    const clock = createManualClock();
    const waited = waitAtMost(50, never(), clock);
    clock.advance(50);
    assert.equal(await waited, undefined);
  });
});

describe('the wait until idle', () => {
  test('ends at the first poll without work, or after its limit', async () => {
    for (const [busyLooks, overAfterMs] of [
      [0, 0],
      [2, 40],
      [100, 60],
    ] as const) {
      const clock = createManualClock();
      let looks = 0;
      let isOver = false;
      void untilIdle(() => looks++ < busyLooks, 50, clock).then(() => (isOver = true));
      await turn();
      while (!isOver) {
        clock.advance(20);
        await turn();
      }
      assert.equal(clock.monotonic(), overAfterMs);
    }
  });
});

/** Work that rejects with its own error as soon as its signal aborts. */
function untilItEnds(signal: AbortSignal): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(new Error('cut off')));
  return promise;
}
