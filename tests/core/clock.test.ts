import assert from 'node:assert/strict';
import { createTicker, durationText, isObject, silent, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { describe, test } from 'vitest';

describe('the system clock', () => {
  test('returns the time in milliseconds, and durations that never go back', () => {
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

  test('restarts a delay', async () => {
    const { promise, resolve } = Promise.withResolvers<number>();
    using refreshed = systemClock.after(20, () => resolve(systemClock.monotonic()));
    let startedAgainAt = 0;
    systemClock.after(10, () => {
      startedAgainAt = systemClock.monotonic();
      refreshed.refresh();
    });
    // Timers of Node may fire one millisecond early.
    assert.ok((await promise) - startedAgainAt >= 19);
  });

  test('does not fire at once for a delay beyond the maximum of Node', async () => {
    let fired = false;
    using _timer = systemClock.after(2 ** 40, () => void (fired = true));
    await new Promise<void>(resolve => void systemClock.after(20, resolve));
    assert.equal(fired, false);
  });
});

describe('a ticker', () => {
  /** Creates a ticker that ticks three times, unless it is disposed before. */
  function create() {
    const clock = createManualClock();
    const at: number[] = [];
    const ticker = createTicker(clock, 10, () => at.push(clock.monotonic()) % 3 !== 0);
    return { clock, at, ticker };
  }

  test('ticks at its interval until there is no more work, and again once it is started', () => {
    const { clock, at, ticker } = create();
    ticker.start();
    ticker.start();
    assert.equal(clock.waiting, 1);
    clock.advance(100);
    assert.deepEqual(at, [10, 20, 30]);
    assert.equal(clock.waiting, 0);
    ticker.start();
    clock.advance(10);
    assert.deepEqual(at, [10, 20, 30, 110]);
  });

  test('that is disposed stops, and can be started again', () => {
    const { clock, at, ticker } = create();
    ticker.start();
    ticker[Symbol.dispose]();
    clock.advance(100);
    assert.deepEqual(at, []);
    ticker.start();
    clock.advance(10);
    assert.deepEqual(at, [110]);
  });
});

test('isObject is true only for values with keys', () => {
  for (const value of [{}, { a: 1 }, Object.create(null)]) assert.ok(isObject(value));
  for (const value of [null, undefined, [], 'a', 1, true, () => 1]) assert.ok(!isObject(value));
});

test('the silent log and its children drop every message', () => {
  assert.equal(silent.child({ part: 'x' }), silent);
  for (const level of ['debug', 'info', 'warn', 'error'] as const)
    assert.equal(silent[level]({}, 'unheard'), undefined);
});

test.each([
  [0, '0 ms'],
  [250.4, '250 ms'],
  [1_000, '1 s'],
  [19_811.761, '19.8 s'],
  [59_960, '60 s'],
])('a duration of %d ms is "%s" in messages', (milliseconds, expected) => {
  assert.equal(durationText(milliseconds), expected);
});
