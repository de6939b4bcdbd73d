import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, test } from 'vitest';
import { describeWithEngine } from '../helpers/engine.ts';
import { type Scene, createScene } from '../repositories/harness.ts';
import { createPipeline, fileBlock, goodReview, reportOf, says } from '../tasks/pipeline.ts';

describeWithEngine('the gate of a task, in containers', () => {
  let scene: Scene;
  beforeAll(() => {
    scene = createScene('docker');
  });
  afterAll(async () => await scene?.[Symbol.asyncDispose]());

  test('runs the acceptance commands on the change, and tells the implementer why they failed', async () => {
    const check = `import { strict as assert } from 'node:assert';
import { test } from 'node:test';
import { sum } from '../src/sum.mjs';
test('adds', () => assert.equal(sum(1, 2), 3));
`;
    const path = scene.create({ 'tests/sum.test.mjs': check });
    const wrong = fileBlock('src/sum.mjs', 'export const sum = (a, b) => a - b;\n');
    const right = fileBlock('src/sum.mjs', 'export const sum = (a, b) => a + b;\n');
    const pipeline = createPipeline(scene.repositories, {
      script: [says(wrong), says(right), says(goodReview)],
    });
    await pipeline.start();
    await pipeline.setUp(path, { acceptance: { commands: ['node --test'], timeout: 60 } });
    const task = await pipeline.work('add-sum', 'run');
    assert.equal(
      `${task.status} ${task.attempt}`,
      'pending_judge_review 2',
      JSON.stringify(task.failures),
    );
    assert.match(pipeline.runs[1]?.prompt ?? '', /exit code 1[^]*AssertionError/);
    assert.match(reportOf(path, 'REVIEW_REQUEST.md'), /`node --test`: exit code 0/);
    await pipeline.stop();
    await rm(pipeline.folder, { recursive: true, force: true });
  });
});
