import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';
import { type HubProcess, startHub } from '../helpers/hub-process.ts';
import { type Scene, createScene } from '../repositories/harness.ts';
import { goodAnswer, goodReview, remainsIn } from '../tasks/pipeline.ts';

let scene: Scene;
let ollama: OllamaDouble;
const asked: string[] = [];
beforeAll(async () => {
  scene = createScene('process');
  ollama = await startScriptedOllama({
    models: [{ name: 'coder:1b' }, { name: 'critic:1b' }],
    script({ model }) {
      asked.push(model);
      return model === 'coder:1b' ? goodAnswer : goodReview;
    },
  });
});
afterAll(async () => {
  await ollama?.[Symbol.asyncDispose]();
  await scene?.[Symbol.asyncDispose]();
});

const contract = {
  task_id: 'add-sum',
  specification: { requirements: ['sum(a, b)'], target_file: 'src/sum.mjs' },
  roles: { implementer: 'coder:1b', local_reviewer: 'critic:1b' },
};
/** More runs than the task has records. */
const maxRuns = 40;

async function ask(hub: HubProcess, method: string, path: string, body?: object) {
  const response = await fetch(`${hub.url}${path}`, {
    method,
    headers: { ...hub.ownerHeaders, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const answer: unknown = await response.json();
  assert.ok(isObject(answer));
  return { status: response.status, answer };
}

/** Gives the command that a task waits for. Resolves with true when it has ended. */
async function goOn(hub: HubProcess, repository: string): Promise<boolean> {
  const { status: code, answer: task } = await ask(hub, 'GET', '/tasks/add-sum');
  const { status, doing, job, verdict } = task;
  if (code === 404) await ask(hub, 'POST', '/tasks', { repository, contract });
  else if (doing !== 'idle' || job !== undefined) await hub.ended;
  else if (status === 'done') return true;
  else if (status === 'proposal') await ask(hub, 'POST', '/tasks/setup', { repository });
  else if (status !== 'pending_judge_review') await ask(hub, 'POST', '/tasks/add-sum/run', {});
  else if (verdict === undefined)
    await ask(hub, 'POST', '/tasks/add-sum/judge', { verdict: 'pass' });
  else await ask(hub, 'POST', '/tasks/add-sum/finalize');
  return false;
}

test(
  'a whole hub that is killed after every record of a task takes it to merged, and asks no model twice',
  { timeout: 240_000 },
  async () => {
    const path = scene.create({ 'README.md': 'A\n' });
    const dataDir = mkdtempSync(join(tmpdir(), 'killed-tasks-'));
    const killer = pathToFileURL(join(import.meta.dirname, 'kill-at-records.mjs')).href;
    let kills = 0;
    const events = () =>
      readFileSync(join(dataDir, 'tasks/add-sum.jsonl'), 'utf8')
        .trimEnd()
        .split('\n')
        .map(line => String(JSON.parse(line).event));
    for (let isOver = false; !isOver && kills < maxRuns;) {
      const started = startHub({
        config: {
          mcpServers: { ollama: { package: 'agenthub:ollama-mcp' } },
          repositories: [scene.home],
        },
        dataDir,
        env: {
          OLLAMA_HOST: ollama.url,
          DOCKER_HOST: 'unix:///nowhere/docker.sock',
          NODE_OPTIONS: `--import=${killer}`,
        },
      });
      // It may be killed before it listens.
      await using hub = await started.catch(() => undefined);
      if (!hub) {
        kills++;
        continue;
      }
      // A request that the kill cuts off was stored, or is made again.
      const isAtEnd = await goOn(hub, path).catch(() => false);
      isOver = isAtEnd && events().at(-1) === 'written';
      if (isOver) break;
      await hub.ended;
      kills++;
    }
    // Files in _handoff that a kill left to the next start may be written together.
    assert.equal(
      events()
        .filter(event => event !== 'written')
        .join(' '),
      'created setup prepared begin answered checked committed begin answered reviewed committed judge finalize merged cleaned',
    );
    assert.equal(kills, events().length);
    assert.deepEqual(asked, ['coder:1b', 'critic:1b']);
    assert.deepEqual(remainsIn(path), {
      handoff: ['REVIEW_REQUEST.md', 'TASK_CONTRACT.json'],
      status: 'done',
      branch: [],
      main: ['Review add-sum', 'Implement add-sum', 'first'],
      worktrees: 1,
      tree: '',
    });
    await rm(dataDir, { recursive: true, force: true });
  },
);
