import fastify from 'fastify';
import { expect, test } from 'vitest';
import { openCaller } from '#policy';
import type { TaskPipeline } from '#tasks';
import { taskRoutes } from '../../../hub/http/routes/tasks.ts';

const absent = (): never => {
  throw new Error('a wrong request reaches no task');
};

const tasks: TaskPipeline = {
  service: { start: absent, stop: absent },
  list: absent,
  get: absent,
  visibleTo: absent,
  requireVisible: absent,
  findByRepository: absent,
  create: absent,
  setup: absent,
  begin: absent,
  settled: absent,
  reportJudge: absent,
  finalize: absent,
  cancel: absent,
  rollback: absent,
  diff: absent,
  report: absent,
  events: absent,
};

test.for([
  ['/tasks', {}, 'repository: is missing: write a string'],
  ['/tasks/setup', {}, 'repository: is missing: write a string'],
  [
    '/tasks/sum/run',
    { phase: 'walk' },
    'phase: "walk" is not allowed: write run, implementer, local_review',
  ],
  ['/tasks/sum/judge', { notes: 'no tests' }, 'verdict: is missing: write "pass" or "fail"'],
  [
    '/tasks/sum/judge',
    { verdict: 'maybe' },
    'verdict: "maybe" is not allowed: write "pass" or "fail"',
  ],
] as const)('POST %s with %j is refused with a remedy', async ([url, payload, message]) => {
  await using app = fastify();
  taskRoutes(app, { tasks, admission: { principalOf: () => openCaller }, follow: absent });
  const answer = await app.inject({ method: 'POST', url, payload });
  expect(answer.json()).toMatchObject({ code: 'HUB_REQUEST_INVALID', message });
});
