import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readTasks } from '#config';
import { systemClock } from '#core';
import { type TestHub, startHub } from '#helpers/hub';
import { createModelCalls } from '#tasks';
import { type Scene, createScene } from '../repositories/harness.ts';
import { createPipeline, reportOf } from './pipeline.ts';

/**
 * Real endpoint, such as llama-server with a small model: OPENAI_URL, OPENAI_MODEL. The reviewer needs another name,
 * OPENAI_REVIEWER, under which a server with one model uses that same model.
 */
const {
  OPENAI_URL: url = '',
  OPENAI_MODEL: model = 'model',
  OPENAI_REVIEWER: reviewer = 'reviewer',
} = process.env;

describe.skipIf(url === '')('a real OpenAI-compatible endpoint', () => {
  let scene: Scene;
  let hub: TestHub;
  beforeAll(async () => {
    scene = createScene('process');
    const file = '../../../images/ollama-mcp/ollama-mcp.mjs';
    hub = await startHub(
      [{ name: 'ollama', file, env: { OPENAI_BASE_URL: url }, callTimeoutMs: 200_000 }],
      { start: false },
    );
  });
  afterAll(async () => {
    await hub?.[Symbol.asyncDispose]();
    await scene?.[Symbol.asyncDispose]();
  });

  test('a task ends with a judge or a person, and a readable report', async () => {
    const models = createModelCalls({
      config: () => readTasks(undefined),
      servers: hub.servers,
      router: hub.router,
      clock: systemClock,
    });
    const path = scene.create();
    const pipeline = createPipeline(scene.repositories, { script: [], models });
    await pipeline.start();
    await pipeline.setUp(path, { roles: { implementer: model, local_reviewer: reviewer } });
    const { status, halted, totals } = await pipeline.work('add-sum', 'run');
    await pipeline.stop();
    assert.equal(halted, undefined);
    expect(['pending_judge_review', 'human_consultation']).toContain(status);
    assert.ok(totals.calls > 0 && totals.completionTokens > 0);
    const names = ['REVIEW_REQUEST.md', 'STALL_REPORT.md', 'HALT.md'];
    const found = names.filter(name => existsSync(join(path, '_handoff', name)));
    assert.equal(found.length, 1);
    const report = reportOf(path, found.join());
    assert.match(report, /^# [^]*add-sum/);
    assert.ok(report.includes('sum(a, b) returns a + b'), report);
  }, 600_000);
});
