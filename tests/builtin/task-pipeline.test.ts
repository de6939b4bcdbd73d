import { createEmitter } from '#core';
import { createManualClock } from '#helpers/clock';
import { caller } from '#helpers/principal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTasksServer } from '../../hub/builtin/task-pipeline.ts';
import { type Scene, createScene } from '../repositories/harness.ts';
import { written } from '../tasks/contracts.ts';
import { createPipeline, goodAnswer, owner, says } from '../tasks/pipeline.ts';

let scene: Scene;
beforeAll(() => {
  scene = createScene('process');
});
afterAll(async () => await scene?.[Symbol.asyncDispose]());

test('the tools report a task of a repository that the client may not use as unknown', async () => {
  const pipeline = createPipeline(scene.repositories, { script: [] });
  await pipeline.start();
  const mine = scene.create();
  const secret = scene.create();
  await pipeline.tasks.create(mine, { ...written, task_id: 'mine' }, owner);
  await pipeline.tasks.create(secret, { ...written, task_id: 'secret-plan' }, owner);
  scene.allow([mine]);
  const server = createTasksServer({
    ...pipeline,
    clock: createManualClock(),
    isOn: () => true,
    changed: createEmitter<undefined>().event,
  });
  const failureOf = async (name: string, args: object) => {
    const tool = server.tools().find(one => one.name === name);
    const { signal } = new AbortController();
    const context = {
      principal: caller,
      client: undefined,
      signal,
      progress() {},
      elicit: async () => undefined,
    };
    return await Promise.resolve(tool?.call(args, context)).then(
      () => 'none',
      (error: unknown) => (error instanceof Error ? error.message : ''),
    );
  };
  try {
    for (const [name, more] of Object.entries({
      status: {},
      report: { name: 'HALT.md' },
      run: {},
      report_judge: { verdict: 'pass' },
      cancel: {},
    }))
      for (const id of ['secret-plan', 'nothing'])
        expect([name, await failureOf(name, { task_id: id, ...more })]).toEqual([
          name,
          `there is no task "${id}". There are mine`,
        ]);
    const made = await failureOf('create', {
      repository: mine,
      contract: { ...written, task_id: 'secret-plan' },
    });
    expect(made).not.toContain(secret);
  } finally {
    scene.allow([scene.home]);
    await pipeline.stop();
  }
});

test('a call that waits for work of more than nine minutes is answered with the state, and the work goes on', async () => {
  const called = Promise.withResolvers<void>();
  const pipeline = createPipeline(scene.repositories, {
    script: [
      says(goodAnswer),
      async (_run, signal) => {
        called.resolve();
        const { promise, reject } = Promise.withResolvers<never>();
        signal.addEventListener('abort', () => reject(signal.reason));
        return await promise;
      },
    ],
  });
  await pipeline.start();
  await pipeline.setUp(scene.create());
  const timer = Promise.withResolvers<{ readonly ms: number; readonly expire: () => void }>();
  const clock = {
    after(ms: number, expire: () => void) {
      timer.resolve({ ms, expire });
      return { refresh() {}, [Symbol.dispose]() {} };
    },
  };
  const server = createTasksServer({
    ...pipeline,
    clock,
    isOn: () => true,
    changed: createEmitter<undefined>().event,
  });
  const run = server.tools().find(({ name }) => name === 'run');
  const told: string[] = [];
  const result = run?.call(
    { task_id: 'ADD-SUM', phase: 'run', wait: true },
    {
      principal: owner,
      client: undefined,
      signal: new AbortController().signal,
      progress: message => void told.push(message),
      elicit: async () => undefined,
    },
  );
  await called.promise;
  const { ms, expire } = await timer.promise;
  expect(ms).toBe(9 * 60_000);
  expire();
  const { job } = pipeline.tasks.get('ADD-SUM');
  expect(await result).toMatchObject({ structured: { status: 'pending_local_review', job } });
  expect(pipeline.jobs.get(job ?? '').state).toBe('running');
  expect(told).not.toEqual([]);
  await pipeline.stop();
});
