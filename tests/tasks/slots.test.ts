import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createSlots } from '../../hub/tasks/slots.ts';

const { signal } = new AbortController();

test('owners take turns, and waiting is bounded', async () => {
  const slots = createSlots(() => ({ maxRunning: 1, queue: 3 }));
  const order: string[] = [];
  const first = await slots.take('a', signal);
  const wait = (owner: string, name: string) =>
    slots.take(owner, signal).then(slot => {
      order.push(name);
      slot[Symbol.dispose]();
    });
  const all = [wait('a', 'a1'), wait('a', 'a2'), wait('b', 'b1')];
  assert.throws(() => slots.reserve(), { code: 'HUB_TASKS_FULL' });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await Promise.all(all);
  assert.deepEqual(order, ['a1', 'b1', 'a2']);
  using _room = slots.reserve();
});

test('a cancelled waiter leaves the queue', async () => {
  const slots = createSlots(() => ({ maxRunning: 1, queue: 1 }));
  using _first = await slots.take('a', signal);
  const gone = new AbortController();
  const waiting = slots.take('b', gone.signal);
  gone.abort(new Error('gone'));
  await assert.rejects(waiting, /gone/);
  using _room = slots.reserve();
  await assert.rejects(slots.take('b', gone.signal), /gone/);
});

test('reserved places count as taken until they are released', async () => {
  const slots = createSlots(() => ({ maxRunning: 1, queue: 1 }));
  const first = slots.reserve();
  const second = slots.reserve();
  assert.throws(() => slots.reserve(), { code: 'HUB_TASKS_FULL' });
  using _first = await slots.take('a', signal);
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  assert.throws(() => slots.reserve(), { code: 'HUB_TASKS_FULL' });
  second[Symbol.dispose]();
  using _third = slots.reserve();
});
