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
/** Limit of hub runs, greater than the number of records of the task. */
const maxRuns = 40;
/** Number of records after which each hub is killed. tests/tasks/recovery.test.ts kills after every record. */
const recordsPerRun = byLength({ short: 4, long: 1 });

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

/** Sends the command that the task waits for, if any. Resolves with true if the task has ended. */
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
  `a whole hub that is killed after every ${isLong ? '' : 'fourth '}record of a task takes it to merged, and asks no model twice`,
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
        // The last line may be incomplete.
        .slice(0, -1)
        .map(line => String(JSON.parse(line).event));
    /**
     * Works on the task until the hub is killed, or until the task has ended, which resolves with true. `before`:
     * number of records of earlier hubs.
     */
    async function workUntilKilled(hub: HubProcess, before: number): Promise<boolean> {
      let hasEnded = false;
      void hub.ended.then(() => (hasEnded = true));
      while (!hasEnded) {
        // A request that is cut off by the kill was stored, or is sent again.
        const isAtEnd = await goOn(hub, path).catch(() => false);
        const found = events();
        // After this many records the kill of the hub is imminent.
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
      // The hub may be killed before it listens.
      await using hub = await started.catch(() => undefined);
      if (!hub) {
        kills++;
        continue;
      }
      isOver = await workUntilKilled(hub, before);
      if (!isOver) kills++;
    }
    // Files in _handoff that are pending from before a kill may be written together, in one record.
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
