import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';
import { type HubProcess, startHub } from '../helpers/hub-process.ts';
import { type Scene, createScene, git } from '../repositories/harness.ts';
import { goodAnswer, goodReview, remainsIn } from '../tasks/pipeline.ts';

let scene: Scene;
let ollama: OllamaDouble;
const asked: string[] = [];
const firstAsked = Promise.withResolvers<void>();
const answering = Promise.withResolvers<void>();

beforeAll(async () => {
  scene = createScene('process');
  ollama = await startScriptedOllama({
    models: [{ name: 'coder:1b' }, { name: 'critic:1b' }],
    async script({ model }) {
      asked.push(model);
      if (asked.length === 1) {
        firstAsked.resolve();
        await answering.promise;
      }
      return model === 'coder:1b' ? goodAnswer : goodReview;
    },
  });
});
afterAll(async () => {
  answering.resolve();
  await ollama?.[Symbol.asyncDispose]();
  await scene?.[Symbol.asyncDispose]();
});

const contract = {
  task_id: 'add-sum',
  specification: { requirements: ['sum(a, b)'], target_file: 'src/sum.mjs' },
  roles: { implementer: 'coder:1b', local_reviewer: 'critic:1b' },
};

const start = async (dataDir?: string) =>
  await startHub({
    ...(dataDir !== undefined && { dataDir }),
    config: {
      mcpServers: { ollama: { package: 'agenthub:ollama-mcp' } },
      repositories: [scene.home],
    },
    env: { OLLAMA_HOST: ollama.url, DOCKER_HOST: 'unix:///nowhere/docker.sock' },
  });

async function ask(hub: HubProcess, method: string, path: string, body?: object) {
  const response = await fetch(`${hub.url}${path}`, {
    method,
    headers: { ...hub.ownerHeaders, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  assert.ok(response.ok && isObject(answer), JSON.stringify(answer));
  return answer;
}

/** Waits for the end of a job, and returns the task. */
async function taskAfter(hub: HubProcess, job: unknown) {
  const headers = hub.ownerHeaders;
  await (await fetch(`${hub.url}/jobs/${String(job)}/events`, { headers })).text();
  return await ask(hub, 'GET', '/tasks/add-sum');
}

/** Runs the task on a hub. Resolves with the task when the job has ended. */
async function work(hub: HubProcess) {
  const { job } = await ask(hub, 'POST', '/tasks/add-sum/run', {});
  return await taskAfter(hub, job);
}

test(
  'of two hubs, one works on a repository, and the other takes over once the first has died',
  { timeout: 120_000 },
  async () => {
    const path = scene.create({ 'README.md': 'A\n' });
    const dataDir = mkdtempSync(join(tmpdir(), 'two-hubs-'));
    await using first = await start(dataDir);
    await using second = await start();
    await ask(first, 'POST', '/tasks', { repository: path, contract });
    await ask(first, 'POST', '/tasks/setup', { repository: path });
    // Both hubs read the same contract.
    await ask(second, 'POST', '/tasks/setup', { repository: path });
    const { job } = await ask(first, 'POST', '/tasks/add-sum/run', {});
    await firstAsked.promise;

    const refused = await work(second);
    assert.equal(refused['status'], 'pending_implementer');
    assert.ok(isObject(refused['halted']));
    assert.equal(refused['halted']['code'], 'task_leased');
    assert.deepEqual(asked, ['coder:1b'], 'it has asked no model');

    await first.kill();
    assert.ok(isObject((await work(second))['halted']), 'the lease lives on for a while');
    const lease = join(
      git(path, 'rev-parse', '--absolute-git-dir'),
      'agenthub/state/task-lease.json',
    );
    const record = JSON.parse(readFileSync(lease, 'utf8'));
    writeFileSync(lease, JSON.stringify({ ...record, beat: record.beat - 30_000 }));
    const done = await work(second);
    assert.equal(done['halted'], undefined);
    assert.deepEqual(asked, ['coder:1b', 'coder:1b', 'critic:1b']);
    assert.deepEqual(remainsIn(path), {
      handoff: ['REVIEW_REQUEST.md', 'TASK_CONTRACT.json'],
      status: 'pending_judge_review',
      branch: ['Review add-sum', 'Implement add-sum'],
      main: ['first'],
      worktrees: 2,
      tree: '',
    });

    // When the first hub is back, it does not touch the work of the second.
    await using back = await start(dataDir);
    const { halted, doing } = await taskAfter(back, job);
    assert.equal(doing, 'idle');
    assert.ok(isObject(halted) && halted['code'] === 'task_state', JSON.stringify(halted));
    assert.match(String(halted['message']), /rollback add-sum --to base/);
    assert.equal(asked.length, 3);
    assert.deepEqual(remainsIn(path).branch, ['Review add-sum', 'Implement add-sum']);
    const merged = await ask(second, 'POST', '/tasks/add-sum/judge', { verdict: 'pass' });
    assert.equal(merged['verdict'], 'pass');
    assert.equal((await ask(second, 'POST', '/tasks/add-sum/finalize'))['status'], 'done');
    await rm(dataDir, { recursive: true, force: true });
  },
);
