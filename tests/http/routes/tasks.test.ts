import fastify from 'fastify';
import { describe, expect, test } from 'vitest';
import { HubError } from '#core';
import { startHub, until } from '#helpers/hub';
import { openCaller } from '#policy';
import type { TaskPipeline } from '#tasks';
import { taskRoutes } from '../../../hub/http/routes/tasks.ts';
import { createTestPipeline, waiting } from '../../dashboard/task-pipeline.ts';
import { createTestAccess } from '../../routing/test-access.ts';
import { send } from '../../transports/raw.ts';

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

describe('the events of a task', () => {
  async function open() {
    const { pipeline, put } = createTestPipeline();
    const { access, change } = createTestAccess([]);
    let isVisible = true;
    const hub = await startHub([], {
      access,
      tasks: {
        ...pipeline,
        async requireVisible(id) {
          if (isVisible) return pipeline.get(id);
          throw new HubError('HUB_TASK_UNKNOWN', `no task ${id}`);
        },
      },
    });
    put(waiting);
    const stream = await send(`${hub.url}/tasks/${waiting.id}/events`);
    await until(() => stream.text().includes('event: task'));
    return {
      change,
      stream,
      hide: () => (isVisible = false),
      next: () => put({ ...waiting, status: 'done' }),
      [Symbol.asyncDispose]: () => hub[Symbol.asyncDispose](),
    };
  }

  test('reach a client until a reload denies it the tool that shows tasks', async () => {
    await using opened = await open();
    opened.change({
      policy: [{ clients: ['local'], action: 'deny' }],
    });
    opened.next();
    expect(await opened.stream.body()).not.toContain('"status":"done"');
  });

  test('reach a client until a reload takes the repository from it', async () => {
    await using opened = await open();
    opened.hide();
    opened.next();
    expect(await opened.stream.body()).not.toContain('"status":"done"');
  });
});
