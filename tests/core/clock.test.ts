import assert from 'node:assert/strict';
import { isObject, silent, systemClock } from '#core';
import { describe, test } from 'vitest';

describe('the system clock', () => {
  test('tells the time in milliseconds, and durations that never go back', () => {
    assert.ok(Math.abs(systemClock.now() - Date.now()) < 1000);
    const before = systemClock.monotonic();
    assert.ok(systemClock.monotonic() >= before);
  });

  test('calls once after the delay, and not at all once it is disposed', async () => {
    const calls: string[] = [];
    await new Promise<void>(resolve => {
      const cancelled = systemClock.after(1, () => void calls.push('cancelled'));
      systemClock.after(5, () => {
        calls.push('called');
        resolve();
      });
      cancelled[Symbol.dispose]();
      cancelled[Symbol.dispose]();
    });
    assert.deepEqual(calls, ['called']);
  });

  test('starts a delay again', async () => {
    const calls: string[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    using refreshed = systemClock.after(20, () => void calls.push('refreshed'));
    systemClock.after(10, () => {
      calls.push('first');
      refreshed.refresh();
    });
    systemClock.after(25, () => {
      calls.push('second');
      resolve();
    });
    await promise;
    assert.deepEqual(calls, ['first', 'second']);
  });

  test('does not fire at once for a delay that Node cannot hold', async () => {
    let fired = false;
    using _timer = systemClock.after(2 ** 40, () => void (fired = true));
    await new Promise<void>(resolve => void systemClock.after(20, resolve));
    assert.equal(fired, false);
  });
});

test('isObject is true for what has keys only', () => {
  for (const value of [{}, { a: 1 }, Object.create(null)]) assert.ok(isObject(value));
  for (const value of [null, undefined, [], 'a', 1, true, () => 1]) assert.ok(!isObject(value));
});

test('the silent log keeps nothing, and neither do its children', () => {
  assert.equal(silent.child({ part: 'x' }), silent);
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    assert.equal(silent[level]({}, 'unheard'), undefined);
});
