import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import type { InstallProgress } from '#installs';
import { type Work, createTurns } from '../../../hub/installs/upgrades/turns.ts';

function take(
  turns: ReturnType<typeof createTurns>,
  name: string,
  work: (work: Work) => Promise<unknown>,
) {
  const told: InstallProgress[] = [];
  const caller = new AbortController();
  const done = turns.take(name, one => told.push(one), caller.signal, work);
  done.catch(() => {}); // Each test awaits `done`.
  return { done, told, hangUp: () => caller.abort() };
}

test('a server has one upgrade at a time, and there are four at once', async () => {
  const turns = createTurns();
  const over = Promise.withResolvers<void>();
  const first = ['a', 'b', 'c', 'd'].map(name => take(turns, name, () => over.promise));
  await assert.rejects(take(turns, 'a', async () => {}).done, { code: 'HUB_CONFIG_CONFLICT' });
  await assert.rejects(take(turns, 'e', async () => {}).done, { code: 'HUB_INSTALLS_FULL' });
  over.resolve();
  await Promise.all(first.map(({ done }) => done));
  assert.equal(await take(turns, 'a', async () => 5).done, 5);
});

test('progress is reported, and a failure has the step and the last output', async () => {
  const turns = createTurns();
  const { done, told } = take(turns, 'a', async ({ begin, events }) => {
    begin('build', 'it is installed');
    events.stderr('npm error');
    throw new HubError('HUB_IMAGE_BUILD_FAILED', 'npm failed');
  });
  await assert.rejects(done, error => {
    assert.ok(error instanceof HubError);
    assert.deepEqual([error.data['step'], error.data['output']], ['build', 'npm error']);
    return true;
  });
  assert.deepEqual(
    told.map(({ step, text }) => `${step} ${text}`),
    ['build it is installed', 'build npm error'],
  );
});

test('a client that disconnects, and a hub that stops, abort an upgrade', async () => {
  const turns = createTurns();
  const until = ({ signal, begin }: Work) =>
    new Promise<void>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('gone')));
      begin('resolve', 'it begins');
    });
  const left = take(turns, 'a', until);
  left.hangUp();
  await assert.rejects(left.done, { code: 'HUB_CALL_CANCELLED' });
  const stopped = take(turns, 'a', until);
  await turns.stop();
  await assert.rejects(stopped.done, { code: 'HUB_SHUTTING_DOWN' });
  await assert.rejects(take(turns, 'b', async () => {}).done, { code: 'HUB_SHUTTING_DOWN' });
});
