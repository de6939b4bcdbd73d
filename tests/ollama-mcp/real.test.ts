import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Runner, connectRunner } from './clients.ts';

/** Real endpoint, such as llama-server with a small model: OPENAI_URL, OPENAI_MODEL. */
const { OPENAI_URL: url = '', OPENAI_MODEL: model = 'model' } = process.env;
const file = join(import.meta.dirname, '../../images/ollama-mcp/ollama-mcp.mjs');

describe.skipIf(url === '')('a real OpenAI-compatible endpoint', () => {
  let client: Runner;
  beforeAll(async () => {
    client = await connectRunner('SDK v2, 2026-07-28', { file, env: { OPENAI_BASE_URL: url } });
  });
  afterAll(() => client?.[Symbol.asyncDispose]());

  const run = async (args: object, more: Parameters<Runner['call']>[2] = {}) =>
    await client.call('ollama_run', { model, prompt: 'Hello', ...args }, more);

  test('lists its models, counts tokens, and stops at their limit', async () => {
    const { structured } = await client.call('ollama_list_models');
    expect(JSON.stringify(structured['models'])).toContain('"source":"openai"');
    const answer = await run({ options: { num_predict: 8 } });
    expect(answer.structured).toMatchObject({
      tokens: { completion: 8 },
      done_reason: 'length',
    });
  }, 60_000);

  test('follows a schema', async () => {
    const format = {
      type: 'object',
      properties: { passed: { type: 'boolean' } },
      required: ['passed'],
      additionalProperties: false,
    };
    const { text } = await run({ format, options: { num_predict: 60 } });
    assert.equal(typeof JSON.parse(text).passed, 'boolean');
  }, 60_000);

  test('answers the next call at once after one was cancelled', async () => {
    const ended = new AbortController();
    const heard = Promise.withResolvers<string>();
    const long = run(
      { options: { num_predict: 2_000 } },
      { signal: ended.signal, onProgress: heard.resolve },
    );
    await heard.promise;
    ended.abort();
    await assert.rejects(long);
    const sinceMs = performance.now();
    await run({ options: { num_predict: 1 } });
    assert.ok(performance.now() - sinceMs < 1_000);
  }, 60_000);
});
