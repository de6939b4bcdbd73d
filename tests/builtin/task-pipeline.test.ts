import { createEmitter } from '#core';
import { caller } from '#helpers/principal';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTasksServer } from '../../hub/builtin/task-pipeline.ts';
import { type Scene, createScene } from '../repositories/harness.ts';
import { written } from '../tasks/contracts.ts';
import { createPipeline, owner } from '../tasks/pipeline.ts';

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
