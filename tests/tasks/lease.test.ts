import assert from 'node:assert/strict';
import { silent } from '#core';
import { createManualClock } from '#helpers/clock';
import { test } from 'vitest';
import { dropOldLease, takeLease } from '../../hub/tasks/lease.ts';

/** Creates a folder in memory. */
function createFolder() {
  const files = new Map<string, string>();
  return {
    files,
    read: async (path: string) => {
      const text = files.get(path);
      return text === undefined ? undefined : Buffer.from(text);
    },
    write: async (all: readonly { path: string; content: string | Uint8Array }[]) => {
      for (const { path, content } of all) files.set(path, String(content));
    },
    create: async ({ path, content }: { path: string; content: string | Uint8Array }) => {
      if (files.has(path)) return false;
      files.set(path, String(content));
      return true;
    },
    remove: async (paths: readonly string[]) => paths.forEach(path => files.delete(path)),
  };
}

const { signal } = new AbortController();
const turns = async () => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};

function createScene() {
  const folder = createFolder();
  const clock = createManualClock();
  const take = (hubId: string, runId: string, task = 'add-sum') =>
    takeLease(folder, task, { clock, log: silent, hubId, runId }, signal);
  return { folder, clock, take };
}

test('one hub has the lease until it releases it', async () => {
  const { folder, take } = createScene();
  const lease = await take('one', 'a');
  await assert.rejects(take('two', 'b'), { code: 'HUB_TASK_LEASED' });
  await lease[Symbol.asyncDispose]();
  assert.equal(folder.files.size, 0);
  await (await take('two', 'b'))[Symbol.asyncDispose]();
});

test('the heartbeat keeps a lease; that of a dead hub ends after 30 s', async () => {
  const { clock, take } = createScene();
  await using lease = await take('one', 'a');
  for (let beat = 0; beat < 8; beat++) {
    clock.advance(5_000);
    await turns();
  }
  await assert.rejects(take('two', 'b'), { code: 'HUB_TASK_LEASED' });
  clock.advance(0);
  assert.equal(lease.lost.aborted, false);
});

test('a hub without a heartbeat for too long loses its lease, and is notified', async () => {
  const { folder, clock, take } = createScene();
  const lease = await take('one', 'a');
  folder.files.set(
    'task-lease.json',
    JSON.stringify({ hub: 'one', run: 'a', task: 'add-sum', beat: clock.now() - 30_000 }),
  );
  const other = await take('two', 'b');
  clock.advance(5_000);
  await turns();
  assert.equal(lease.lost.aborted, true);
  await lease[Symbol.asyncDispose]();
  assert.equal(folder.files.size, 1, 'that of the other hub stays');
  await other[Symbol.asyncDispose]();
});

test('the next run of the same hub takes the lease at once, and releases it if it has no work', async () => {
  const { folder, take } = createScene();
  await take('one', 'a');
  await dropOldLease(folder, { hubId: 'two', runId: 'b' }, signal);
  await dropOldLease(folder, { hubId: 'one', runId: 'a' }, signal);
  assert.equal(folder.files.size, 1);
  await dropOldLease(folder, { hubId: 'one', runId: 'b' }, signal);
  assert.equal(folder.files.size, 0);
  await take('one', 'b');
  await (await take('one', 'c'))[Symbol.asyncDispose]();
});

test('a task waits for the lease that another task of its hub has, and keeps its own', async () => {
  const { folder, clock, take } = createScene();
  const pass = async (ms: number) => {
    for (let at = 0; at < ms; at += 500) {
      await turns();
      clock.advance(500);
    }
    await turns();
  };
  let isTaken = false;
  const ending = take('one', 'a', 'cancelled');
  const taking = take('one', 'a').finally(() => (isTaken = true));
  const first = await ending;
  await pass(60_000);
  assert.deepEqual([isTaken, first.lost.aborted], [false, false]);
  await first[Symbol.asyncDispose]();
  await pass(1_000);
  const second = await taking;
  await pass(10_000);
  assert.equal(second.lost.aborted, false);
  await second[Symbol.asyncDispose]();
  assert.equal(folder.files.size, 0);
});

test('a lease that another hub is about to write is not taken from it', async () => {
  const { folder, clock, take } = createScene();
  folder.files.set('task-lease.json', '');
  const refused = assert.rejects(take('two', 'b'), { code: 'HUB_TASK_LEASED' });
  await turns();
  folder.files.set(
    'task-lease.json',
    JSON.stringify({ hub: 'one', run: 'a', task: 'add-sum', beat: clock.now() }),
  );
  clock.advance(500);
  await refused;
});

test('an invalid lease is replaced', async () => {
  const { folder, clock, take } = createScene();
  folder.files.set('task-lease.json', '{');
  const taking = take('one', 'a');
  await turns();
  clock.advance(500);
  await (await taking)[Symbol.asyncDispose]();
});

test('after a change of the clock, the lease of a dead hub still expires, and that of a running one does not', async () => {
  const { folder, clock, take } = createScene();
  const ahead = (beat: number) =>
    folder.files.set(
      'task-lease.json',
      JSON.stringify({ hub: 'one', run: 'a', task: 'add-sum', beat: clock.now() + beat }),
    );
  ahead(3_600_000);
  const refused = assert.rejects(take('two', 'b'), { code: 'HUB_TASK_LEASED' });
  await turns();
  ahead(-1_000);
  clock.advance(10_000);
  await refused;
  ahead(3_600_000);
  const taken = take('two', 'b');
  await turns();
  clock.advance(10_000);
  await (await taken)[Symbol.asyncDispose]();
});
