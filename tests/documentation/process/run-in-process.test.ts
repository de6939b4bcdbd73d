import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'vitest';
import { HubError } from '#core';
import { never } from '#helpers/never';
import { type Answers, runInProcess } from '../../../hub/documentation/process/run-in-process.ts';

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
      // Another run takes longer than ending the process of this one.
      await assert.rejects(runInProcess(order, {}, never), { code: 'HUB_INTERNAL' });
      hasEnded = true;
    },
  };
  await assert.rejects(runInProcess(order, answers, cancelling.signal), reason);
  assert.ok(hasEnded);
});

test.each([
  ['HUB_GIT_FAILED', async () => Promise.reject(new HubError('HUB_GIT_FAILED', 'git failed'))],
  ['HUB_INTERNAL', async () => Promise.reject(new TypeError('a fault'))],
  ['HUB_INTERNAL', async () => 'no list of files'],
])('a run fails with %s as what it asked for did', async (code, files) => {
  await assert.rejects(runInProcess(order, { files }, never), { code });
});

test.skipIf(process.platform === 'win32').each([
  ['SIGKILL', 'HUB_INTERNAL'],
  // V8 ends a process so whose heap is full.
  ['SIGABRT', 'HUB_REPOSITORY_LIMIT'],
])('a run whose process ends by %s fails with %s', async (by, code) => {
  const answers: Answers = {
    async files() {
      const found = execFileSync('pgrep', ['-P', `${process.pid}`, '-f', 'agenthub-documentation']);
      process.kill(Number(found.toString().trim()), by);
    },
  };
  await assert.rejects(runInProcess(order, answers, never), { code });
});
