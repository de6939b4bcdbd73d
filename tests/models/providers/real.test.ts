import assert from 'node:assert/strict';
import { afterAll, describe, test } from 'vitest';
import { HubError, type JsonObject, isObject, systemClock } from '#core';
import { createChats, createContextSizes, createModelCounts, createSampling } from '#models';
import { never, openModels } from '../scene.ts';

/** Real endpoint, such as llama-server with a small model: OPENAI_URL, OPENAI_KEY, OPENAI_MODEL. */
const { OPENAI_URL: url, OPENAI_KEY: key, OPENAI_MODEL: model = 'model' } = process.env;
const options = { timeout: 300_000 };

const fileWrite = {
  name: 'file_write',
  description: 'Writes a text into a file.',
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, content: { type: 'string' } },
    required: ['path', 'content'],
  },
};

describe.skipIf(url === undefined)('a real OpenAI-compatible endpoint', () => {
  const scene = openModels('http://127.0.0.1:9');
  afterAll(async () => await scene[Symbol.asyncDispose]());

  const samplingWith = (secret: string | undefined) => {
    const real = {
      url: url ?? '',
      key: secret,
      keyFault: undefined,
      contextTokens: undefined,
      parallel: 1,
    };
    const settings = {
      defaultModel: `real/${model}`,
      timeoutMs: 120_000,
      silentMs: 120_000,
      providers: new Map([['real', real]]),
    };
    let ids = 0;
    return createSampling(
      createChats(() => settings, {
        models: scene.models,
        contextSizes: createContextSizes({ ofRules: () => undefined, ofChats: () => 4096 }),
        newId: () => `id_${++ids}`,
        clock: systemClock,
        fetch,
        life: never,
        counts: createModelCounts(),
        createBreaker: () => scene.breaker,
      }),
    );
  };
  const sampling = samplingWith(key);
  const caller = { client: 'agent:real', kind: 'agent' } as const;
  const ask = (params: object, progress?: (text: string) => void, signal = never) =>
    sampling.answer({ maxTokens: 60, temperature: 0, ...params }, { caller, progress }, signal);

  test(
    'holds a conversation of five turns, in which it calls tools or answers',
    options,
    async () => {
      const turns = ['My name is Ada.', 'Write "hi" to a.txt.', 'What is 1+1?', 'Thanks.', 'Bye.'];
      const messages: JsonObject[] = [];
      const outcomes: unknown[] = [];
      for (const text of turns) {
        messages.push({ role: 'user', content: { type: 'text', text } });
        const pieces: string[] = [];
        const { content, stopReason, _meta } = await ask(
          { systemPrompt: 'You are a helpful assistant.', messages, tools: [fileWrite] },
          piece => void pieces.push(piece),
        );
        const blocks = Array.isArray(content) ? content.filter(isObject) : [];
        outcomes.push([stopReason, ...blocks.map(({ type }) => type)]);
        assert.ok(blocks.length > 0, `${text}: ${JSON.stringify(stopReason)}`);
        messages.push({ role: 'assistant', content: JSON.parse(JSON.stringify(blocks)) });
        const results = blocks.flatMap(({ type, id }) =>
          type === 'tool_use'
            ? [
                {
                  type: 'tool_result',
                  toolUseId: String(id),
                  content: [{ type: 'text', text: 'done' }],
                },
              ]
            : [],
        );
        if (results.length > 0) {
          messages.push({ role: 'user', content: results });
          messages.push({ role: 'assistant', content: { type: 'text', text: 'Done.' } });
        } else assert.ok(pieces.join('').length > 0);
        const usage = isObject(_meta) ? _meta['agenthub/usage'] : undefined;
        assert.ok(isObject(usage) && Number(usage['input_tokens']) > 5, JSON.stringify(usage));
        assert.ok(Number(usage['output_tokens']) > 0, JSON.stringify(usage));
      }
      assert.equal(outcomes.length, 5);
    },
  );

  test('calls a tool where it must, or says that it did not', options, async () => {
    // A boolean, because a small model may never end a string.
    const inputSchema = {
      type: 'object',
      properties: { yes: { type: 'boolean' } },
      required: ['yes'],
    };
    const asked = ask({
      messages: [{ role: 'user', content: { type: 'text', text: 'Is water wet?' } }],
      tools: [{ name: 'answer', description: 'Answers a question.', inputSchema }],
      toolChoice: { mode: 'required' },
      maxTokens: 400,
    });
    // Not all endpoints support the choice, and models whose template has no tools cannot follow it.
    const told = await asked.catch((error: unknown) => error);
    if (told instanceof HubError) return assert.match(told.message, /called no tool/);
    const { content, stopReason } = isObject(told) ? told : {};
    if (stopReason === 'maxTokens') return;
    const [call] = Array.isArray(content) ? content.filter(isObject) : [];
    assert.deepEqual([call?.['type'], call?.['name']], ['tool_use', 'answer']);
    const input = call?.['input'];
    assert.equal(isObject(input) && typeof input['yes'], 'boolean');
  });

  test('refuses a conversation that exceeds the context', options, async () => {
    const text = 'word '.repeat(200_000);
    const long = ask({ messages: [{ role: 'user', content: { type: 'text', text } }] });
    await assert.rejects(long, { code: 'HUB_CONTEXT_FULL' });
  });

  test('ends at once when it is cancelled', options, async () => {
    const gone = new AbortController();
    const content = { type: 'text', text: 'Count to one thousand.' };
    const asked = ask(
      { messages: [{ role: 'user', content }], maxTokens: 2_000 },
      () => gone.abort(),
      gone.signal,
    );
    await assert.rejects(asked, { code: 'HUB_CALL_CANCELLED' });
  });

  test.skipIf(key === undefined)('refuses a wrong key', options, async () => {
    const params = {
      messages: [{ role: 'user', content: { type: 'text', text: 'x' } }],
      maxTokens: 1,
    };
    await assert.rejects(samplingWith('wrong').answer(params, { caller }, never), {
      code: 'HUB_MODEL_FAILED',
      message: /answered 401/,
    });
  });
});
