import assert from 'node:assert/strict';
import { test } from 'vitest';
import type { SourceLog } from '#logs';
import type { Exit } from '#runtimes';
import { createRunLog } from '../../hub/servers/run-log.ts';

/** Creates a run log, and records its actions as text. */
function createScene(own?: string) {
  const done: string[] = [];
  const log: Pick<SourceLog, 'begin' | 'resume' | 'add' | 'end'> = {
    begin: () => void done.push('begin'),
    resume: () => void done.push('resume'),
    add: ({ text, isHubs, instance = '' }) =>
      void done.push(`${isHubs === true ? 'hub: ' : ''}${instance}${text}`),
    end: how => void done.push(`end: ${how}`),
  };
  const unused = { run: 1, write: async () => {}, read: async () => [], runs: async () => [] };
  const whole: SourceLog = { ...log, ...unused, remove: async () => {} };
  return { done, runLog: createRunLog(whole, own) };
}

const instance = () => {
  const { promise: exited, resolve: exit } = Promise.withResolvers<Exit>();
  return { exited, exit };
};

test('a run starts with a launch and ends with its instance', async () => {
  const { done, runLog } = createScene();
  runLog.launching('new');
  runLog.progress('building');
  const one = instance();
  runLog.opened(one);
  runLog.wrote('hello');
  one.exit({ detail: 'exit code 1' });
  await one.exited;
  runLog.changed({ state: 'failed', since: 0, why: 'memory is gone: exit code 1\nand more' });
  assert.deepEqual(done, [
    'begin',
    'hub: building',
    'hello',
    'end: exit code 1',
    'hub: memory is gone: exit code 1',
  ]);
});

test('an adopted instance, and one after a probe, continue the run', () => {
  const { done, runLog } = createScene();
  runLog.launching('adopted');
  runLog.launching('again');
  assert.deepEqual(done, ['resume', 'resume']);
});

test('a successor starts a run, which the end of the replaced instance does not end', async () => {
  const { done, runLog } = createScene();
  const before = instance();
  const after = instance();
  runLog.launching('new');
  runLog.opened(before);
  runLog.opened(after);
  before.exit({ detail: 'stopped' });
  after.exit({ detail: 'lost', lost: true });
  await Promise.all([before.exited, after.exited]);
  assert.deepEqual(done, ['begin', 'begin']);
});

test('the instance continues in a run of its own after a successor that did not start', async () => {
  const { done, runLog } = createScene();
  const before = instance();
  const after = instance();
  runLog.launching('new');
  runLog.opened(before);
  runLog.opened(after);
  after.exit({ detail: 'exit code 1' });
  await after.exited;
  runLog.wrote('still here');
  before.exit({ detail: 'stopped' });
  await before.exited;
  assert.deepEqual(done, [
    'begin',
    'begin',
    'end: exit code 1',
    'begin',
    'still here',
    'end: stopped',
  ]);
});

test('a replaced instance that ends during the next launch does not end the run of that', async () => {
  const { done, runLog } = createScene();
  const before = instance();
  const after = instance();
  runLog.launching('new');
  runLog.opened(before);
  runLog.opened(after);
  after.exit({ detail: 'exit code 1' });
  await after.exited;
  runLog.launching('new');
  before.exit({ detail: 'stopped' });
  await before.exited;
  assert.deepEqual(done, ['begin', 'begin', 'end: exit code 1', 'begin', 'begin']);
});

test('a continuing outage is logged once', () => {
  const { done, runLog } = createScene();
  const away = { state: 'unreachable', since: 0, until: 0, due: 0, why: 'no engine' } as const;
  for (const code of ['HUB_ENGINE_UNREACHABLE', 'HUB_ENGINE_UNREACHABLE'] as const)
    runLog.changed({ ...away, code });
  assert.deepEqual(done, ['hub: no engine']);
});

test('an instance of a session writes into the run of its server', () => {
  const { done, runLog } = createScene('3');
  runLog.launching('new');
  runLog.opened(instance());
  runLog.wrote(' hello');
  assert.deepEqual(done, ['3 hello']);
});
