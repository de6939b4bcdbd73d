import assert from 'node:assert/strict';
import { test } from 'vitest';
import { DeadlineExceeded } from '#core';
import { createManualClock } from '#helpers/clock';
import { createTurns } from '../../../../hub/runtimes/docker/container/turns.ts';

function open() {
  const clock = createManualClock();
  return { clock, turns: createTurns({ clock }) };
}

test('work that ends in time returns its result, and leaves no timer', async () => {
  const { clock, turns } = open();
  assert.equal(await turns.take('a', 1_000, async () => 'done'), 'done');
  assert.equal(clock.waiting, 0);
});

test('work that fails rejects with its own error', async () => {
  const { turns } = open();
  await assert.rejects(
    turns.take('a', undefined, () => Promise.reject(new Error('refused'))),
    /refused/,
  );
});

test('work that times out is aborted, and the next of its name waits for its end', async () => {
  const { clock, turns } = open();
  const engine = Promise.withResolvers<void>();
  const order: string[] = [];
  let signal: AbortSignal | undefined;
  const first = turns.take('a', 1_000, async late => {
    signal = late;
    await engine.promise;
    order.push('the first ended');
  });
  await Promise.resolve();
  clock.advance(1_000);
  await assert.rejects(first, DeadlineExceeded);
  assert.ok(signal?.aborted);
  const second = turns.take('a', undefined, async () => void order.push('the second began'));
  await turns.take('b', undefined, async () => void order.push('another name'));
  assert.deepEqual(order, ['another name']);
  engine.resolve();
  await second;
  assert.deepEqual(order, ['another name', 'the first ended', 'the second began']);
});

test('work that waits longer than its time limit never begins', async () => {
  const { clock, turns } = open();
  const engine = Promise.withResolvers<void>();
  const first = turns.take('a', 1_000, () => engine.promise);
  await Promise.resolve();
  clock.advance(1_000);
  await assert.rejects(first);
  let began = false;
  const second = turns.take('a', 500, async () => void (began = true));
  clock.advance(500);
  await assert.rejects(second, DeadlineExceeded);
  const third = turns.take('a', undefined, async () => 'third');
  engine.resolve();
  assert.equal(await third, 'third');
  assert.ok(!began);
});
