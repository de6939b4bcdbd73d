import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type OllamaDouble, type Said, busy, modelNamed, startOllama } from '../doubles/ollama.ts';
import { startOpenAi } from '../doubles/openai.ts';
import { until } from '../helpers/hub.ts';
import { type Runner, clientKinds, connectRunner } from './clients.ts';

const root = join(import.meta.dirname, '..', '..');
const file = join(root, 'images', 'ollama-mcp', 'ollama-mcp.mjs');
const model = 'llama3.2:3b';
const ollamaRun = 'ollama_run';

let ollama: OllamaDouble;
beforeAll(async () => {
  execFileSync(process.execPath, [join(root, 'scripts', 'build-images.mjs')]);
  ollama = await startOllama();
});
afterAll(() => ollama?.[Symbol.asyncDispose]());

const start = (env: Readonly<Record<string, string>> = {}) =>
  connectRunner('SDK v1, 2025-11-25', { file, env: { OLLAMA_HOST: ollama.url, ...env } });

describe.for(clientKinds)('with a client of %s', kind => {
  let client: Runner;
  beforeAll(async () => {
    client = await connectRunner(kind, { file, env: { OLLAMA_HOST: ollama.url } });
  });
  afterAll(() => client?.[Symbol.asyncDispose]());

  test('ollama_run answers with text, tokens, durations and progress, without thoughts', async () => {
    const pieces: string[] = [];
    const { promise: isTold, resolve: told } = Promise.withResolvers<void>();
    ollama.says({
      text: '<think>hm</think>The sky is blue.',
      pieces: ['<think>hm</think>', 'The sky ', 'is blue.'],
      // Clients of the SDK drop progress that arrives in one chunk with the result.
      fault: { kind: 'paced', before: async line => await (line === 3 ? isTold : undefined) },
    });
    const { structured, text } = await client.call(
      ollamaRun,
      { model, prompt: 'Why?', system: 'Be short.', options: { temperature: 0, seed: 7 } },
      {
        onProgress(piece) {
          pieces.push(piece);
          if (pieces.join('').endsWith('blue.')) told();
        },
      },
    );
    assert.equal(text, 'The sky is blue.');
    const { durations, ...others } = structured;
    expect(others).toEqual({
      text: 'The sky is blue.',
      model,
      tokens: { prompt: expect.any(Number), completion: expect.any(Number) },
      done_reason: 'stop',
      thinking_only: false,
    });
    expect(durations).toEqual({
      total_ms: expect.any(Number),
      load_ms: expect.any(Number),
      prompt_ms: expect.any(Number),
    });
    assert.equal(pieces.join(''), 'The sky is blue.');
    const sent = ollama.received('/api/chat').at(-1)?.body;
    expect(sent).toMatchObject({
      messages: [
        { role: 'system', content: 'Be short.' },
        { role: 'user', content: 'Why?' },
      ],
      options: { temperature: 0, seed: 7, num_ctx: 8192 },
      think: false,
    });
  });

  test('ollama_list_models lists the models', async () => {
    const { structured } = await client.call('ollama_list_models');
    expect(structured).toEqual({
      models: [
        expect.objectContaining({ name: model, source: 'ollama', size_bytes: expect.any(Number) }),
        expect.objectContaining({ name: 'nomic-embed-text:latest', capabilities: ['embedding'] }),
      ],
      unavailable: [],
    });
  });

  test('a cancelled call closes the connection to Ollama within 1 s', async () => {
    ollama.says({ text: 'one two three', fault: { kind: 'hang_mid_stream', afterLines: 2 } });
    const ended = new AbortController();
    const heard = Promise.withResolvers<string>();
    const call = client.call(
      ollamaRun,
      { model, prompt: 'Count.' },
      { signal: ended.signal, onProgress: heard.resolve },
    );
    assert.match(await heard.promise, /^one/);
    const sinceMs = performance.now();
    ended.abort();
    await assert.rejects(call);
    const isAbandoned = () => ollama.received('/api/chat').at(-1)?.isAbandoned === true;
    await until(isAbandoned, () => 'the connection is open');
    assert.ok(performance.now() - sinceMs < 1_000);
  });
});

describe('a failure has its own code and message:', () => {
  const cases: readonly [string, Said, object, RegExp][] = [
    ['overloaded', { text: '', fault: busy }, { retryable: true }, /server busy/],
    [
      'cut_off',
      { text: 'one two three', fault: { kind: 'reset', afterLines: 2 } },
      { retryable: true },
      /lost in the middle/,
    ],
    [
      'failed',
      { text: 'x', fault: { kind: 'error', status: 500, error: 'runner crashed' } },
      { retryable: false },
      /runner crashed/,
    ],
    ['timeout', { text: 'x', fault: { kind: 'hang' } }, { retryable: false }, /within 1 s/],
  ];
  let client: Runner;
  beforeAll(async () => {
    client = await start();
  });
  afterAll(() => client?.[Symbol.asyncDispose]());

  test.each(cases)('%s', async (code, said, more, message) => {
    ollama.says(said);
    const result = await client.call(ollamaRun, { model, prompt: 'x', timeout: 1 });
    expect(result).toMatchObject({ isError: true, code, ...more });
    assert.match(result.text, message);
  });

  test('model_missing, with the pull command', async () => {
    const result = await client.call(ollamaRun, { model: 'qwen3:8b', prompt: 'x' });
    expect(result).toMatchObject({ isError: true, code: 'model_missing', retryable: false });
    assert.match(result.text, /Get it with "ollama pull qwen3:8b"/);
    assert.doesNotMatch(result.text, /POST/);
  });

  test('context_full', async () => {
    const small = await start({ OLLAMA_CONTEXT_LENGTH: '256' });
    await using _ = small;
    const prompt = 'word '.repeat(2_000);
    expect(await small.call(ollamaRun, { model, prompt })).toMatchObject({ code: 'context_full' });
  });

  test('unavailable, also in the list', async () => {
    await using alone = await start({ OLLAMA_HOST: '127.0.0.1:9' });
    const result = await alone.call(ollamaRun, { model, prompt: 'x' });
    expect(result).toMatchObject({ isError: true, code: 'unavailable', retryable: true });
    assert.match(result.text, /Start it, or correct OLLAMA_HOST/);
    const { structured } = await alone.call('ollama_list_models');
    expect(structured).toMatchObject({ models: [], unavailable: [{ source: 'ollama' }] });
  });

  test('a prompt that is too long, an unknown option and num_ctx are refused', async () => {
    const asked = ollama.received().length;
    for (const args of [
      { prompt: 'x'.repeat(1_000_001) },
      { prompt: 'x', options: { num_ctx: 1 } },
      { prompt: 'x', options: { tempreature: 1 } },
      { prompt: 'x', timeout: 0 },
    ])
      assert.equal((await client.call(ollamaRun, { model, ...args })).isError, true);
    assert.equal(ollama.received().length, asked);
  });
});

test('an answer at the token limit says so, and so do thoughts alone', async () => {
  await using client = await start();
  ollama.says('one two three four');
  const cut = await client.call(ollamaRun, { model, prompt: 'x', options: { num_predict: 2 } });
  expect(cut.structured).toMatchObject({ done_reason: 'length', thinking_only: false });
  ollama.says({ text: '', thinking: 'on and on' });
  const thoughts = await client.call(ollamaRun, { model, prompt: 'x' });
  expect(thoughts.structured).toMatchObject({ text: '', thinking_only: true });
});

test('a schema is passed on as the format of the answer', async () => {
  await using client = await start();
  const format = { type: 'object', properties: { passed: { type: 'boolean' } } };
  ollama.says('{"passed":true}');
  assert.equal(
    (await client.call(ollamaRun, { model, prompt: 'x', format })).text,
    '{"passed":true}',
  );
  expect(ollama.received('/api/chat').at(-1)?.body['format']).toEqual(format);
});

test('with OLLAMA_MCP_MODELS only these models are listed and run', async () => {
  ollama.add(modelNamed('other:1b'));
  await using client = await start({ OLLAMA_MCP_MODELS: ' other:1b ' });
  expect(await client.call(ollamaRun, { model, prompt: 'x' })).toMatchObject({
    code: 'model_not_allowed',
  });
  const { structured } = await client.call('ollama_list_models');
  expect(structured['models']).toEqual([expect.objectContaining({ name: 'other:1b' })]);
  ollama.remove('other:1b');
});

test('a model of OLLAMA_MCP_MODELS needs no tag, also if its name has a slash', async () => {
  ollama.add(modelNamed('someone/other:latest'));
  await using client = await start({ OLLAMA_MCP_MODELS: 'someone/other' });
  const { structured } = await client.call('ollama_list_models');
  expect(structured['models']).toEqual([expect.objectContaining({ name: 'someone/other:latest' })]);
  ollama.remove('someone/other:latest');
});

test('with OPENAI_BASE_URL the models are those of that endpoint', async () => {
  await using endpoint = await startOpenAi(() => ({ text: 'of the endpoint' }), { key: 'sk-1' });
  await using client = await start({ OPENAI_BASE_URL: `${endpoint.url}/`, OPENAI_API_KEY: 'sk-1' });
  const format = { type: 'object' };
  const answer = await client.call(ollamaRun, {
    model: 'org/gpt-x',
    prompt: 'x',
    format,
    options: { top_p: 0.5, num_predict: 9 },
  });
  expect(answer.structured).toMatchObject({ text: 'of the endpoint', model: 'org/gpt-x' });
  expect(endpoint.received().at(-1)?.body).toMatchObject({
    model: 'org/gpt-x',
    top_p: 0.5,
    max_tokens: 9,
    response_format: { type: 'json_schema', json_schema: { name: 'answer', schema: format } },
  });
  const { structured } = await client.call('ollama_list_models');
  expect(structured).toEqual({
    models: [{ name: 'gpt-x', source: 'openai' }],
    unavailable: [],
  });
  await using wrong = await start({ OPENAI_BASE_URL: endpoint.url, OPENAI_API_KEY: 'sk-2' });
  const refused = await wrong.call(ollamaRun, { model: 'gpt-x', prompt: 'x' });
  expect(refused.code).toBe('unauthorized');
  assert.match(refused.text, /Check OPENAI_API_KEY/);
  assert.doesNotMatch(refused.text, /sk-2/);
});

test('invalid settings exit with all problems', () => {
  assert.throws(
    () =>
      execFileSync(process.execPath, [file], {
        env: { OPENAI_BASE_URL: 'nowhere', OLLAMA_CONTEXT_LENGTH: 'much' },
        stdio: 'pipe',
      }),
    /OPENAI_BASE_URL is not a base URL[^]*OLLAMA_CONTEXT_LENGTH is "much"/,
  );
});
