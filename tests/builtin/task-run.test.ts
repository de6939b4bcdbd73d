import { afterAll, beforeAll, expect, test } from 'vitest';
import { beginTaskRun } from '../../hub/builtin/task-run.ts';
import { type Scene, createScene } from '../repositories/harness.ts';
import {
  type ScriptedCall,
  createPipeline,
  goodAnswer,
  goodReview,
  owner,
  says,
} from '../tasks/pipeline.ts';

let scene: Scene;
beforeAll(() => {
  scene = createScene('process');
});
afterAll(async () => await scene?.[Symbol.asyncDispose]());

async function open(script: readonly ScriptedCall[]) {
  const pipeline = createPipeline(scene.repositories, { script });
  await pipeline.start();
  await pipeline.setUp(scene.create());
  const needs = {
    ...pipeline,
    resultOf: ({ status }: { readonly status: string }, job: string) => ({
      text: status,
      structured: { job },
    }),
  };
  const begin = () => beginTaskRun(needs, { id: 'ADD-SUM', kind: 'run', principal: owner });
  return { ...pipeline, begin };
}

test('a run reports what it does, and its result is the state that it ends in', async () => {
  const { begin, stop } = await open([says(goodAnswer), says(goodReview)]);
  const run = await begin();
  const told: unknown[] = [];
  using _ = run.changed(() => void told.push(run.doing()));
  expect(await run.result).toEqual({
    text: 'pending_judge_review',
    structured: { job: run.id },
  });
  expect(told).toEqual(expect.arrayContaining(['pending_local_review: reading']));
  await stop();
});

test('a run that is cancelled leaves the task in its state, and a run of a busy task is refused', async () => {
  const called = Promise.withResolvers<void>();
  const { begin, stop, tasks } = await open([
    async (_run, signal) => {
      called.resolve();
      const { promise, reject } = Promise.withResolvers<never>();
      signal.addEventListener('abort', () => reject(signal.reason));
      return await promise;
    },
  ]);
  const run = await begin();
  await called.promise;
  await expect(begin()).rejects.toMatchObject({ code: 'HUB_TASK_BUSY' });
  const ended = expect(run.result).rejects.toMatchObject({ code: 'HUB_CALL_CANCELLED' });
  await run.cancel();
  await ended;
  expect(tasks.get('add-sum')).toMatchObject({ status: 'pending_implementer', doing: 'idle' });
  await stop();
});
