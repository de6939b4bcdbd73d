import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { parseJob } from '../../hub/jobs/job.ts';

const facts = {
  id: 'a1',
  kind: 'install',
  title: 'Install x',
  principal: 'owner',
  startedAt: 1,
  progress: { step: 'build', text: 'x is installed' },
};
const error = { code: 'HUB_IMAGE_BUILD_FAILED', message: 'no such package' } as const;

describe('a record of a job is read back unchanged:', () => {
  test.for([
    { ...facts, state: 'running' },
    { ...facts, state: 'done', endedAt: 2, result: { name: 'x' } },
    { ...facts, state: 'failed', endedAt: 2, error },
    { ...facts, state: 'cancelled', endedAt: 2, error },
    { ...facts, state: 'interrupted', endedAt: undefined, error },
  ] as const)('$state', job => {
    assert.deepEqual(parseJob(job), job);
    assert.deepEqual(parseJob({ ...job, unknown: 1 }), job, 'keys of later versions are left out');
  });
});

describe('a record that is not a job is skipped:', () => {
  test.for([
    undefined,
    null,
    [],
    'running',
    { ...facts },
    { ...facts, state: 'paused' },
    { ...facts, state: 'running', id: 1 },
    { ...facts, state: 'running', kind: undefined },
    { ...facts, state: 'running', title: null },
    { ...facts, state: 'running', principal: {} },
    { ...facts, state: 'running', startedAt: '1' },
    { ...facts, state: 'done', result: {} },
  ])('%j', record => {
    assert.equal(parseJob(record), undefined);
  });
});

test('invalid parts of a record have an empty value', () => {
  const unknown = { code: 'HUB_INTERNAL', message: '' };
  for (const broken of [undefined, 'x', { code: 'toString' }, { code: 1, message: 2 }])
    assert.deepEqual(
      parseJob({ ...facts, state: 'failed', endedAt: '2', error: broken, progress: broken }),
      { ...facts, state: 'failed', endedAt: undefined, error: unknown, progress: undefined },
    );
  const done = parseJob({ ...facts, state: 'done', endedAt: 2, result: [1] });
  assert.deepEqual(done, { ...facts, state: 'done', endedAt: 2, result: {} });
});
