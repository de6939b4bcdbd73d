import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { never } from '#helpers/never';
import { type Answers, runInThread } from '../../../hub/documentation/thread/run-in-thread.ts';

const order = {
  name: 'app',
  root: '/repository',
  commit: 'c',
  limits: { maxFiles: 10, maxBytes: 1_000 },
  place: '/vault',
  isDryRun: true,
  isModelWanted: false,
  generatedAt: '2026-01-01T00:00:00Z',
};

test('a cancelled run rejects with the reason once its last request has ended', async () => {
  const cancelling = new AbortController();
  const reason = new HubError('HUB_CALL_CANCELLED', 'it was cancelled');
  let hasEnded = false;
  const answers: Answers = {
    async files(_, signal) {
      const aborted = Promise.withResolvers<void>();
      signal.addEventListener('abort', () => aborted.resolve());
      cancelling.abort(reason);
      await aborted.promise;
      // Another run takes longer than ending the thread of this one.
      await assert.rejects(runInThread(order, {}, never), { code: 'HUB_INTERNAL' });
      hasEnded = true;
    },
  };
  await assert.rejects(runInThread(order, answers, cancelling.signal), reason);
  assert.ok(hasEnded);
});

test.each([
  ['HUB_GIT_FAILED', async () => Promise.reject(new HubError('HUB_GIT_FAILED', 'git failed'))],
  ['HUB_INTERNAL', async () => Promise.reject(new TypeError('a fault'))],
  ['HUB_INTERNAL', async () => 'no list of files'],
])('a run fails with %s as what it asked for did', async (code, files) => {
  await assert.rejects(runInThread(order, { files }, never), { code });
});
