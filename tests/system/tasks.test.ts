import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { isObject } from '#core';
import type { OllamaDouble, Said } from '../doubles/ollama.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';
import { connect } from '../helpers/client.ts';
import { type HubProcess, startHub } from '../helpers/hub-process.ts';
import { type Scene, createScene, git } from '../repositories/harness.ts';
import { goodAnswer, goodReview } from '../tasks/pipeline.ts';

const run = promisify(execFile);
const main = join(import.meta.dirname, '../../bin/agenthub.mjs');

let scene: Scene;
let ollama: OllamaDouble;
let hub: HubProcess;
let implementer: Said = goodAnswer;

beforeAll(async () => {
  scene = createScene('process');
  ollama = await startScriptedOllama({
    models: [{ name: 'coder:1b' }, { name: 'critic:1b' }],
    script: ({ model }) => (model === 'coder:1b' ? implementer : goodReview),
  });
  hub = await startHub({
    config: {
      mcpServers: { ollama: { package: 'agenthub:ollama-mcp' } },
      repositories: [scene.home],
    },
    env: { OLLAMA_HOST: ollama.url, DOCKER_HOST: 'unix:///nowhere/docker.sock' },
  });
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await ollama?.[Symbol.asyncDispose]();
  await scene?.[Symbol.asyncDispose]();
});

/** Sends a request to the REST API. */
const ask = async (method: string, where: string, headers: object = {}, body?: object) => {
  const response = await fetch(`${hub.url}${where}`, {
    method,
    headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text.startsWith('{') ? JSON.parse(text) : text };
};

/** Sends a request as a client of MCP 2026-07-28 with the tasks extension, and returns the result. */
async function askMcp(method: string, params: Readonly<Record<string, unknown>>) {
  const version = '2026-07-28';
  const meta = 'io.modelcontextprotocol';
  const headers = {
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': version,
    'mcp-method': method,
    'mcp-name': String(params['name'] ?? params['taskId']),
  };
  const _meta = {
    [`${meta}/protocolVersion`]: version,
    [`${meta}/clientInfo`]: { name: 'agenthub-tests', version: '1.0.0' },
    [`${meta}/clientCapabilities`]: { extensions: { [`${meta}/tasks`]: {} } },
  };
  const request = { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } };
  return (await ask('POST', '/mcp', headers, request)).body.result;
}

/** Runs `agenthub task` in a repository. */
async function cli(path: string, ...args: readonly string[]) {
  const env = { ...process.env, DATA_DIR: hub.dataDir, NO_COLOR: '1' };
  try {
    const { stdout, stderr } = await run(
      process.execPath,
      [main, 'task', ...args, '--url', hub.url],
      { cwd: path, env },
    );
    return { code: 0, out: stdout.trim(), err: stderr.trim() };
  } catch (error) {
    assert.ok(isObject(error));
    return {
      code: error['code'],
      out: String(error['stdout']).trim(),
      err: String(error['stderr']).trim(),
    };
  }
}

const models = ['--implementer', 'coder:1b', '--reviewer', 'critic:1b'];

test('the command line takes a task from its contract to merged, through ollama-mcp', async () => {
  const path = scene.create();
  expect(await cli(path, 'new', '--target', 'src/sum.mjs', ...models)).toMatchObject({
    code: 2,
    err: 'task new: --requirement is missing',
  });
  expect(
    await cli(
      tmpdir(),
      'new',
      '--repo',
      path,
      '--target',
      'src/sum.mjs',
      '--requirement',
      'sum(a, b) returns a + b',
      '--implementer',
      'coder:1b',
      '--reviewer',
      'critic:1b',
    ),
  ).toMatchObject({
    code: 0,
    out: 'sum: proposal, 0 tokens\nNext: agenthub task setup sum, agenthub task run sum, agenthub task cancel sum',
  });
  const watched = await cli(path, 'run', '--watch');
  expect(watched.err).toBe('');
  expect(watched.out).toMatch(
    /pending_implementer: answered\npending_implementer: the gate was passed\npending_local_review: committed\n[^]*pending_judge_review: committed\nsum: pending_judge_review, \d+ tokens\nNext: agenthub task report-judge, agenthub task rollback, agenthub task cancel$/,
  );
  expect((await cli(path, 'finalize-task')).err).toMatch(/does not fit before the judge says pass/);
  const judged = await cli(path, 'report-judge', '--verdict', 'pass');
  expect(judged.code).toBe(0);
  expect(judged.out).toMatch(
    /^The verdict is kept: pass\.\nsum: pending_judge_review, \d+ tokens\nNext: agenthub task finalize, agenthub task report-judge, /,
  );
  expect((await cli(path, 'finalize')).out).toMatch(/^sum: done, \d+ tokens$/);
  expect((await cli(path, 'status')).out).toMatch(/TASK +STATUS [^]*sum +done/);
  assert.equal(git(path, 'log', '--format=%s', 'main'), 'Review sum\nImplement sum\nfirst');
});

test('over REST and MCP, callers have the repositories of the config, and the owner merges', async () => {
  const path = scene.create();
  const contract = {
    task_id: 'over-mcp',
    specification: { requirements: ['sum'], target_file: 'src/sum.mjs' },
    roles: { implementer: 'coder:1b', local_reviewer: 'critic:1b' },
  };
  await using client = await connect(`${hub.url}/mcp`);
  const call = async (name: string, args: Record<string, unknown>) => {
    const text = await client.call(`tasks_${name}`, args);
    return text.startsWith('{') ? JSON.parse(text) : text;
  };
  const names = (await client.toolNames()).filter(name => name.startsWith('tasks_'));
  assert.deepEqual(names.toSorted(), [
    'tasks_cancel',
    'tasks_create',
    'tasks_report',
    'tasks_report_judge',
    'tasks_run',
    'tasks_setup',
    'tasks_status',
  ]);
  assert.match(
    await call('create', { repository: '/etc', contract }),
    /^error: [^]*"repositories"/,
  );
  expect(await call('create', { repository: path, contract })).toMatchObject({
    status: 'pending_implementer',
  });
  expect(await call('run', { task_id: 'over-mcp', wait: true })).toMatchObject({
    status: 'pending_judge_review',
    changed_files: ['src/sum.mjs'],
  });
  assert.match(await call('status', { task_id: 'nope' }), /^error: there is no task "nope/);
  assert.match(
    await call('report', { task_id: 'over-mcp', name: 'REVIEW_REQUEST.md' }),
    /^# Review/,
  );
  expect(await call('report_judge', { task_id: 'over-mcp', verdict: 'pass' })).toMatchObject({
    next: expect.arrayContaining(['finalize']),
  });

  expect(await ask('GET', '/tasks')).toMatchObject({
    body: { tasks: [{ id: 'over-mcp' }, { id: 'sum' }] },
  });
  expect((await ask('GET', '/tasks/over-mcp/diff')).body.diff).toContain('+export const sum');
  expect((await ask('GET', '/tasks/over-mcp/reports/HALT.md')).status).toBe(404);
  expect((await ask('POST', '/tasks/over-mcp/run', {}, { phase: 'x' })).body.error.message).toBe(
    'phase: "x" is not allowed: write run, implementer, local_review',
  );
  expect((await ask('POST', '/tasks/over-mcp/finalize')).status).toBe(401);
  expect(await ask('POST', '/tasks/over-mcp/finalize', hub.ownerHeaders)).toMatchObject({
    status: 200,
    body: { status: 'done' },
  });
});

test('a stalled task exits with 1 and says why, and can be cancelled', async () => {
  const path = scene.create();
  implementer = 'no';
  await cli(path, 'new', 'bad', '--target', 'src/sum.mjs', '--requirement', 'x', ...models);
  await cli(path, 'setup');
  const stalled = await cli(path, 'run', 'bad');
  implementer = goodAnswer;
  expect(stalled).toMatchObject({
    code: 1,
    err: expect.stringContaining('A person is needed: the implementer stalled 2 times'),
  });
  const anew = await cli(scene.create(), 'setup', 'bad');
  expect([anew.code, anew.out]).toEqual([0, expect.stringContaining('bad: pending_implementer')]);
  expect((await cli(path, 'cancel')).out).toBe(
    'bad: cancelled, ' + /(\d+ tokens)/.exec(stalled.out)?.[1],
  );
});

test('an answer that breaks off, and an Ollama that goes in the middle of one, leave the task as it was', async () => {
  const path = scene.create();
  const contract = {
    task_id: 'cut',
    specification: { requirements: ['sum'], target_file: 'src/sum.mjs' },
    roles: { implementer: 'coder:1b', local_reviewer: 'critic:1b' },
  };
  expect((await ask('POST', '/tasks', {}, { repository: path, contract })).status).toBe(201);
  const prepared = (await ask('POST', '/tasks/setup', {}, { repository: path })).body;
  const text = `${'word '.repeat(300)}\n${goodAnswer}`;

  /** Runs the models until their job has ended, and returns the task. */
  async function work() {
    const { job } = (await ask('POST', '/tasks/cut/run')).body;
    await (await fetch(`${hub.url}/jobs/${job}/events`)).text();
    return (await ask('GET', '/tasks/cut')).body;
  }
  const unchanged = {
    status: 'pending_implementer',
    doing: 'idle',
    attempt: 1,
    failures: [],
    checkpoints: [],
    totals: prepared.totals,
  };
  const files = () => git(path, 'log', '--format=%s', 'agenthub/cut');

  implementer = { text, fault: { kind: 'reset', afterLines: 250 } };
  expect(await work()).toMatchObject({ ...unchanged, halted: { code: 'model_failed' } });
  expect(files()).toBe('first');

  let isCut = false;
  const before = async (line: number) => {
    if (line !== 250) return;
    isCut = true;
    await ollama.stop();
  };
  implementer = { text, fault: { kind: 'paced', before } };
  expect(await work()).toMatchObject({ ...unchanged, halted: { code: 'ollama_unavailable' } });
  expect(isCut).toBe(true);
  expect(files()).toBe('first');

  await ollama.start();
  implementer = goodAnswer;
  const made = await askMcp('tools/call', { name: 'tasks_run', arguments: { task_id: 'cut' } });
  expect(made).toMatchObject({ resultType: 'task', status: 'working' });
  await (await fetch(`${hub.url}/jobs/${made.taskId}/events`)).text();
  await expect
    .poll(() => askMcp('tasks/get', { taskId: made.taskId }))
    .toMatchObject({
      status: 'completed',
      result: { structuredContent: { status: 'pending_judge_review', attempt: 1 } },
    });
  expect((await ask('GET', '/tasks/cut')).body).toMatchObject({ failures: [] });
  expect(files()).toBe('Review cut\nImplement cut\nfirst');
});
