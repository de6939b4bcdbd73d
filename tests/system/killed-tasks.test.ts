import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble } from '../doubles/ollama.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';
import { type HubProcess, startHub } from '../helpers/hub-process.ts';
import { byLength, isLong } from '../helpers/length.ts';
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
/** Each run of the hub ends with the last of so many records. tests/tasks/recovery.test.ts kills after every one. */
const recordsPerRun = byLength({ short: 2, long: 1 });

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

/** Gives the command that a task waits for, if it waits for one. Resolves with true when the task has ended. */
async function goOn(hub: HubProcess, repository: string): Promise<boolean> {
  const { status: code, answer: task } = await ask(hub, 'GET', '/tasks/add-sum');
  const { status, doing, job, verdict } = task;
  if (code === 404) await ask(hub, 'POST', '/tasks', { repository, contract });
  else if (doing !== 'idle' || job !== undefined) await setTimeout(20);
  else if (status === 'done') return true;
  else if (status === 'proposal') await ask(hub, 'POST', '/tasks/setup', { repository });
  else if (status !== 'pending_judge_review') await ask(hub, 'POST', '/tasks/add-sum/run', {});
  else if (verdict === undefined)
    await ask(hub, 'POST', '/tasks/add-sum/judge', { verdict: 'pass' });
  else await ask(hub, 'POST', '/tasks/add-sum/finalize');
  return false;
}

test(
  `a whole hub that is killed after every ${isLong ? '' : 'second '}record of a task takes it to merged, and asks no model twice`,
  { timeout: 240_000 },
  async () => {
    const path = scene.create({ 'README.md': 'A\n' });
    const dataDir = mkdtempSync(join(tmpdir(), 'killed-tasks-'));
    const killer = pathToFileURL(join(import.meta.dirname, 'kill-at-records.mjs')).href;
    let kills = 0;
    const journal = join(dataDir, 'tasks/add-sum.jsonl');
    const events = () =>
      (existsSync(journal) ? readFileSync(journal, 'utf8') : '')
        .split('\n')
        // The last one may be written just now.
        .slice(0, -1)
        .map(line => String(JSON.parse(line).event));
    /**
     * Works on the task until the hub is killed or the task is at its end, which resolves with true. `before`: the records
     * of earlier hubs.
     */
    async function workUntilKilled(hub: HubProcess, before: number): Promise<boolean> {
      let hasEnded = false;
      void hub.ended.then(() => (hasEnded = true));
      while (!hasEnded) {
        // A request that the kill cuts off was stored, or is made again.
        const isAtEnd = await goOn(hub, path).catch(() => false);
        const found = events();
        // With its last record, the hub is killed in a moment.
        const isKilled = found.length - before >= recordsPerRun;
        if (isAtEnd && found.at(-1) === 'written' && !isKilled) return true;
      }
      return false;
    }
    for (let isOver = false; !isOver && kills < maxRuns;) {
      const before = events().length;
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
          RECORDS_UNTIL_KILL: String(recordsPerRun),
        },
      });
      // It may be killed before it listens.
      await using hub = await started.catch(() => undefined);
      if (!hub) {
        kills++;
        continue;
      }
      isOver = await workUntilKilled(hub, before);
      if (!isOver) kills++;
    }
    // Files in _handoff that a kill left to the next start may be written together.
    assert.equal(
      events()
        .filter(event => event !== 'written')
        .join(' '),
      'created setup prepared begin answered checked committed begin answered reviewed committed judge finalize merged cleaned',
    );
    assert.equal(kills, Math.floor(events().length / recordsPerRun));
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
