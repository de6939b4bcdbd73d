import assert from 'node:assert/strict';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { type TasksConfig, readTasks } from '#config';
import { HubError, systemClock } from '#core';
import { type TestHub, startHub, until } from '#helpers/hub';
import { never } from '#helpers/never';
import { createModelCalls } from '#tasks';
import { type OllamaDouble, busy, startOllama } from '../../doubles/ollama.ts';

const model = 'llama3.2:3b';
const file = '../../../images/ollama-mcp/ollama-mcp.mjs';
/** Principals and servers of the answered calls. */
const observed: string[] = [];

let ollama: OllamaDouble;
let hub: TestHub;
let written: Partial<TasksConfig> = {};

beforeAll(async () => {
  ollama = await startOllama();
  hub = await startHub(
    [
      { name: 'ollama', file, env: { OLLAMA_HOST: ollama.url } },
      { name: 'nobody', file, env: { OLLAMA_HOST: '127.0.0.1:9' } },
      { name: 'slow', file, env: { OLLAMA_HOST: ollama.url }, callTimeoutMs: 300 },
      { name: 'other', file: 'echo.mjs' },
      { name: 'off', file, enabled: false },
      { name: 'broken', file: 'absent.mjs', restart: 'temporary' },
    ],
    {
      start: false,
      observer: ({ principal, server }) =>
        void observed.push(`${principal.kind}:${principal.name} ${server ?? ''}`),
    },
  );
});
afterAll(async () => {
  await hub?.[Symbol.asyncDispose]();
  await ollama?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  written = {};
  ollama.heals();
  ollama.says('yes');
});

const calls = () =>
  createModelCalls({
    config: () => ({ ...readTasks(undefined), ...written }),
    servers: hub.servers,
    router: hub.router,
    clock: systemClock,
  });

const run = (more: object = {}, signal = never) =>
  calls().run({ job: 'task-1', model, prompt: 'x', ...more }, signal);

async function codeOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => assert.fail('it did not fail'),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof HubError, String(error));
  return error.code;
}

test('a prompt runs as the principal of its job, with progress', async () => {
  ollama.says({ text: 'yes it is', pieces: ['yes ', 'it is'] });
  const pieces: string[] = [];
  const format = { type: 'object' };
  const result = await run({
    system: 'be short',
    format,
    options: { temperature: 0 },
    onProgress: (text: string) => pieces.push(text),
  });
  expect(result).toEqual({
    text: 'yes it is',
    model,
    tokens: { prompt: expect.any(Number), completion: expect.any(Number) },
    durationMs: expect.any(Number),
    doneReason: 'stop',
    thinkingOnly: false,
  });
  assert.equal(pieces.join(''), 'yes it is');
  expect(observed.at(-1)).toBe('job:task-1 ollama');
  expect(ollama.received('/api/chat').at(-1)?.body).toMatchObject({
    format,
    options: { temperature: 0 },
  });
});

test('a check finds the available models', async () => {
  await calls().check(never);
  await calls().check(never, { job: 'task-1', models: ['llama3.2:3b', 'nomic-embed-text'] });
  expect(await codeOf(calls().check(never, { models: ['qwen3:8b'] }))).toBe('HUB_MODEL_UNKNOWN');
});

test('an unreachable Ollama is ollama_unavailable, before a call and during it', async () => {
  written = { server: 'nobody' };
  await expect(calls().check(never)).rejects.toMatchObject({
    code: 'HUB_OLLAMA_UNAVAILABLE',
    message: expect.stringContaining('127.0.0.1:9'),
    data: { retryable: true },
  });
  expect(await codeOf(calls().check(never, { models: [model] }))).toBe('HUB_OLLAMA_UNAVAILABLE');
  expect(await codeOf(run())).toBe('HUB_OLLAMA_UNAVAILABLE');
});

test('an Ollama that ends in the middle of an answer is ollama_unavailable', async () => {
  ollama.says({ text: 'one two three', fault: { kind: 'reset', afterLines: 1 } });
  await expect(run()).rejects.toMatchObject({ data: { kind: 'cut_off' } });
  ollama.says({ text: 'one two three', fault: { kind: 'hang_mid_stream', afterLines: 2 } });
  const heard = Promise.withResolvers<unknown>();
  const failing = codeOf(run({ onProgress: heard.resolve }));
  await heard.promise;
  await ollama.stop();
  expect(await failing).toBe('HUB_OLLAMA_UNAVAILABLE');
  await ollama.start();
});

test('an overloaded Ollama is ollama_unavailable', async () => {
  ollama.says({ text: '', fault: busy });
  expect(await codeOf(run())).toBe('HUB_OLLAMA_UNAVAILABLE');
});

test('a missing model, and one that tasks may not use, have their own codes', async () => {
  expect(await codeOf(run({ model: 'qwen3:8b' }))).toBe('HUB_MODEL_UNKNOWN');
  written = { models: ['other:1b'] };
  const asked = ollama.received().length;
  await expect(run()).rejects.toMatchObject({
    code: 'HUB_MODEL_UNKNOWN',
    message: expect.stringContaining('tasks.models'),
  });
  assert.equal(ollama.received().length, asked);
});

test("a timeout ends the model's call first, by the timeout in the request", async () => {
  ollama.says({ text: 'x', fault: { kind: 'hang' } });
  await expect(run({ timeoutMs: 300 })).rejects.toMatchObject({
    code: 'HUB_MODEL_CALL_TIMEOUT',
    // The message of the server, which gets a timeout of 270 ms.
    message: expect.stringMatching(
      /within 270 ms\. Raise "tasks\.timeout_seconds", and "timeout" of the entry ollama$/,
    ),
  });
  written = { server: 'slow' };
  await expect(run()).rejects.toMatchObject({
    code: 'HUB_MODEL_CALL_TIMEOUT',
    message: expect.stringMatching(/within (?:270|300) ms/),
  });
});

test('a server that crashes in a call is distinguished from a timeout, and restarted', async () => {
  ollama.says({ text: 'one two three', fault: { kind: 'hang_mid_stream', afterLines: 2 } });
  const heard = Promise.withResolvers<unknown>();
  const failing = codeOf(run({ onProgress: heard.resolve }));
  await heard.promise;
  const pid = hub.server('ollama').running?.instance.about['pid'];
  process.kill(Number(pid), 'SIGKILL');
  expect(await failing).toBe('HUB_MODEL_CALL_CRASHED');
  ollama.says('again');
  expect((await run()).text).toBe('again');
});

test('a server of another kind is a protocol error', async () => {
  const cases: readonly Partial<TasksConfig>[] = [
    { server: 'absent' },
    { server: 'off' },
    { server: 'other' },
    { server: 'other', runTool: 'echo' },
    { runTool: 'ollama_list_models' },
    { runTool: 'nothing' },
  ];
  for (const config of cases) {
    written = config;
    expect(await codeOf(run()), JSON.stringify(config)).toBe('HUB_MODEL_CALL_PROTOCOL');
  }
});

test('a server that does not start is ollama_unavailable', async () => {
  written = { server: 'broken' };
  expect(await codeOf(run())).toBe('HUB_OLLAMA_UNAVAILABLE');
});

test('a cancelled call closes the connection to Ollama within 1 s', async () => {
  ollama.says({ text: 'one two three', fault: { kind: 'hang_mid_stream', afterLines: 2 } });
  const ended = new AbortController();
  const heard = Promise.withResolvers<unknown>();
  const failing = codeOf(run({ onProgress: heard.resolve }, ended.signal));
  await heard.promise;
  const sinceMs = performance.now();
  ended.abort();
  expect(await failing).toBe('HUB_CALL_CANCELLED');
  const isAbandoned = () => ollama.received('/api/chat').at(-1)?.isAbandoned === true;
  await until(isAbandoned, () => 'the connection is open');
  assert.ok(performance.now() - sinceMs < 1_000);
});

test('a cut answer and thoughts alone are results', async () => {
  ollama.says({ text: 'x', doneReason: 'length' });
  expect(await run()).toMatchObject({ text: 'x', doneReason: 'length' });
  ollama.says({ text: '', thinking: 'hm' });
  expect(await run()).toMatchObject({ text: '', thinkingOnly: true });
});

test('a prompt that exceeds the context has its own code', async () => {
  expect(await codeOf(run({ prompt: 'word '.repeat(60_000) }))).toBe('HUB_CONTEXT_FULL');
});
