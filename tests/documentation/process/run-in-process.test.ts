import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { mkdtempDisposable } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'vitest';
import { HubError } from '#core';
import { until } from '#helpers/hub';
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
      // Another run, because it takes longer than ending the process of this one.
      await assert.rejects(runInProcess(order, {}, never), { code: 'HUB_INTERNAL' });
      hasEnded = true;
    },
  };
  await assert.rejects(runInProcess(order, answers, cancelling.signal), reason);
  assert.ok(hasEnded);
});

test('a run sends one request for each batch of files, and none for timers', async () => {
  const asked: string[] = [];
  const content = Buffer.from('export const a = 1;\n');
  const file = { path: 'a.ts', bytes: content.length };
  const values: Readonly<Record<string, unknown[]>> = {
    files: [[{ ...file, mode: 'file', hash: 'h' }], []],
    readFiles: [[{ ...file, kind: 'bytes', content }]],
    listNotes: [[]],
  };
  const answers = Object.fromEntries(
    Object.entries(values).map(([name, given]) => [
      name,
      async () => {
        asked.push(name);
        return given.shift();
      },
    ]),
  );
  const result = await runInProcess(order, { ...answers, report: async () => {} }, never);
  assert.deepEqual([result['files'], asked], [1, ['files', 'files', 'readFiles', 'listNotes']]);
});

test.each([
  ['HUB_GIT_FAILED', async () => Promise.reject(new HubError('HUB_GIT_FAILED', 'git failed'))],
  ['HUB_INTERNAL', async () => Promise.reject(new TypeError('a fault'))],
  ['HUB_INTERNAL', async () => 'no list of files'],
])('a run fails with %s like the request that failed', async (code, files) => {
  await assert.rejects(runInProcess(order, { files }, never), { code });
});

test.skipIf(process.platform === 'win32').each([
  ['SIGKILL', 'HUB_INTERNAL'],
  // V8 aborts a process whose heap is full.
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

test('the compile cache of the process is beside that of the hub', async () => {
  await using cache = await mkdtempDisposable(join(tmpdir(), 'compiled-'));
  const file = new URL('../../../hub/documentation/process/run-in-process.ts', import.meta.url);
  const program = `import { runInProcess } from ${JSON.stringify(file.href)};
    const answers = { files: async () => [], listNotes: async () => [], report: async () => {} };
    await runInProcess(${JSON.stringify(order)}, answers, new AbortController().signal);`;
  execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    env: { NODE_COMPILE_CACHE: cache.path },
  });
  // The cache has one folder for each set of V8 flags.
  const folders = readdirSync(cache.path);
  assert.equal(folders.length, 2);
  for (const folder of folders) assert.ok(readdirSync(join(cache.path, folder)).length > 100);
});

test.skipIf(process.platform === 'win32')(
  'the process ends with a hub that is killed',
  async () => {
    const file = new URL('../../../hub/documentation/process/run-in-process.ts', import.meta.url);
    // The program prints the pid of its run's process when that process asks for files, and never answers.
    const hub = spawn(
      process.execPath,
      [
        '--input-type=module',
        '--eval',
        `import { execFileSync } from 'node:child_process';
      import { runInProcess } from ${JSON.stringify(file.href)};
      const files = () => {
        process.stdout.write(execFileSync('pgrep', ['-P', String(process.pid), '-f', 'agenthub-documentation']));
        return new Promise(() => {});
      };
      await runInProcess(${JSON.stringify(order)}, { files }, new AbortController().signal);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    const [printed] = await once(hub.stdout, 'data');
    const pid = Number(String(printed).trim());
    assert.ok(isRunning(pid));
    hub.kill('SIGKILL');
    await until(
      () => !isRunning(pid),
      () => `process ${pid} runs on`,
    );
  },
);

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
