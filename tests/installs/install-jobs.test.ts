import assert from 'node:assert/strict';
import { test } from 'vitest';
import { HubError } from '#core';
import { createInstallJobs } from '#installs';
import type { JobRequest } from '#jobs';
import { requestOf } from './hub.ts';

/** Returns the title of the job that installs this source. */
function titleOf(source: Parameters<typeof requestOf>[0]['source']): string {
  const begun: string[] = [];
  const open = { id: 'a', report() {}, done() {}, failed() {} };
  const installJobs = createInstallJobs({
    installs: { install: () => Promise.reject(new HubError('HUB_PACKAGE_UNKNOWN', 'no')) },
    jobs: {
      list: () => [],
      begin({ title }: JobRequest) {
        begun.push(title);
        return open;
      },
    },
  });
  installJobs.begin(requestOf(source ? { source } : {}), 'owner');
  return begun.join();
}

test.each([
  [{ package: '@org/server@1.0.0' }, 'Install @org/server@1.0.0'],
  [{ package: ' docker:fresh:1.0 ' }, 'Install docker:fresh:1.0'],
  [{ package: 'https://mcp.example/a/b' }, 'Install https://mcp.example/a/b'],
  [{ package: 'https://user:word@mcp.example/a?key=b#c' }, 'Install https://mcp.example/a'],
  [
    { package: 'uvx:git+https://word@git.example/a.git' },
    'Install uvx:git+https://git.example/a.git',
  ],
  [{ server: { name: 'io.github.someone/server' } }, 'Install io.github.someone/server'],
] as const)('the title of the job of %j is %s', (source, title) => {
  assert.equal(titleOf(source), title);
});

test('an install in the background is awaited until it has ended, even if it failed', async () => {
  for (const isFailing of [false, true]) {
    const ended = Promise.withResolvers<{ readonly name: string }>();
    const states: string[] = [];
    const installJobs = createInstallJobs({
      installs: { install: async () => await ended.promise },
      jobs: {
        list: () => [],
        begin: () => ({
          id: 'a',
          report() {},
          done: () => void states.push('done'),
          failed: () => void states.push('failed'),
        }),
      },
    });
    const { id, over } = installJobs.begin(requestOf({}), 'owner');
    assert.equal(id, 'a');
    void over.then(() => states.push('over'));
    await new Promise(setImmediate);
    assert.deepEqual(states, []);
    if (isFailing) ended.reject(new HubError('HUB_PACKAGE_UNKNOWN', 'no'));
    else ended.resolve({ name: 'a' });
    await over;
    assert.deepEqual(states, [isFailing ? 'failed' : 'done', 'over']);
  }
});
