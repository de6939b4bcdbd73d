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
  assert.throws(() => slots.requireRoom(), { code: 'HUB_TASKS_FULL' });
  first[Symbol.dispose]();
  first[Symbol.dispose]();
  await Promise.all(all);
  assert.deepEqual(order, ['a1', 'b1', 'a2']);
  slots.requireRoom();
});

test('who gives up leaves the queue', async () => {
  const slots = createSlots(() => ({ maxRunning: 1, queue: 1 }));
  using _first = await slots.take('a', signal);
  const gone = new AbortController();
  const waiting = slots.take('b', gone.signal);
  gone.abort(new Error('gone'));
  await assert.rejects(waiting, /gone/);
  slots.requireRoom();
  await assert.rejects(slots.take('b', gone.signal), /gone/);
});
