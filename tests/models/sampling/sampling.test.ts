import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { HubError, type JsonObject, systemClock } from '#core';
import {
  createBudget,
  createChats,
  createContextSizes,
  createModelCounts,
  createSampling,
} from '#models';
import type { SamplingContext } from '../../../hub/models/sampling/sampling.ts';
import { createManualClock } from '#helpers/clock';
import { type Script, startScriptedOllama } from '../../doubles/scripted-model.ts';
import { never, openModels } from '../scene.ts';

const hello = { role: 'user', content: { type: 'text', text: 'hello' } };
const tool = { name: 'run', description: 'Runs it.', inputSchema: { type: 'object' } };
const params = (made: object = {}) => ({ messages: [hello], maxTokens: 100, ...made });
const agent = { client: 'agent:one', kind: 'agent' } as const;
const server = { client: 'server:one', kind: 'server' } as const;

/** Opens sampling over two models that follow the same script. */
async function open(script: Script, defaultModel: string | undefined = 'scripted:1b') {
  const stack = new AsyncDisposableStack();
  const models = [{ name: 'scripted:1b' }, { name: 'other:7b' }];
  const ollama = stack.use(await startScriptedOllama({ models, script }));
  const scene = stack.use(openModels(ollama.url));
  const contextSizes = createContextSizes({ ofRules: () => undefined, ofChats: () => 8192 });
  let ids = 0;
  const limits = { timeoutMs: 60_000, silentMs: 60_000 };
  const chats = createChats(() => ({ defaultModel, ...limits, providers: new Map() }), {
    models: scene.models,
    contextSizes,
    newId: () => `id_${++ids}`,
    clock: systemClock,
    fetch,
    life: never,
    counts: createModelCounts(),
    createBreaker: () => scene.breaker,
  });
  const sampling = createSampling(chats);
  return {
    ollama,
    chats,
    ...scene,
    sent: () => ollama.received('/api/chat').map(({ body }) => body),
    answer: (given: unknown, context: Partial<SamplingContext> = {}): Promise<JsonObject> =>
      sampling.answer(given, { caller: agent, ...context }, never),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

async function errorOf(work: Promise<unknown>): Promise<HubError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof HubError, `${String(error)} is no error of the hub`);
  return error;
}

describe('an answer', () => {
  test('has its model, its blocks, its stop reason, and its usage', async () => {
    await using scene = await open(() => ({
      text: 'One moment.',
      toolCalls: [{ name: 'run', arguments: { a: 1 } }],
    }));
    const pieces: string[] = [];
    const progress = (text: string) => void pieces.push(text);
    assert.deepEqual(await scene.answer(params({ tools: [tool] }), { progress }), {
      role: 'assistant',
      model: 'scripted:1b',
      content: [
        { type: 'text', text: 'One moment.' },
        { type: 'tool_use', id: 'id_1', name: 'run', input: { a: 1 } },
      ],
      stopReason: 'toolUse',
      _meta: { 'agenthub/usage': { input_tokens: 1, output_tokens: 2 } },
    });
    assert.deepEqual(pieces, ['One ', 'moment.']);
  });

  test('is a list for agents, and a single block for servers that sent no tools', async () => {
    await using scene = await open(() => 'hi');
    const block = { type: 'text', text: 'hi' };
    assert.deepEqual((await scene.answer(params()))['content'], [block]);
    assert.deepEqual((await scene.answer(params(), { caller: server }))['content'], block);
    const withTools = await scene.answer(params({ tools: [] }), { caller: server });
    assert.deepEqual(withTools['content'], [block]);
  });

  test('is no longer than the smaller of both limits', async () => {
    await using scene = await open(() => 'one two three');
    const cut = await scene.answer(params(), { maxOutputTokens: 2 });
    assert.deepEqual(
      [cut['stopReason'], scene.sent()[0]?.['options']],
      ['maxTokens', { num_ctx: 8192, num_predict: 2 }],
    );
  });
});

describe('the model of a request', () => {
  const modelOf = async (hints: readonly string[], context: Partial<SamplingContext> = {}) => {
    await using scene = await open(() => 'hi');
    const preferences = { hints: hints.map(name => ({ name })) };
    return (await scene.answer(params({ modelPreferences: preferences }), context))['model'];
  };

  test('is that of the settings, then the hint of an agent, then the default', async () => {
    assert.equal(await modelOf(['scripted:1b'], { model: 'other:7b' }), 'other:7b');
    assert.equal(await modelOf(['other:7b']), 'other:7b');
    assert.equal(await modelOf([]), 'scripted:1b');
  });

  test('is the first hint of a server that exists, or the default', async () => {
    assert.equal(await modelOf(['claude', 'other:7b'], { caller: server }), 'other:7b');
    assert.equal(await modelOf(['claude'], { caller: server }), 'scripted:1b');
  });

  test('is never that of a provider for a server, unless it is the default', async () => {
    await using scene = await open(() => 'hi');
    const asked: string[] = [];
    const chats = {
      ...scene.chats,
      async chat({ model }: { readonly model: string }) {
        asked.push(model);
        const usage = { inputTokens: 1, outputTokens: 1 };
        return { model, content: [], stopReason: 'endTurn' as const, usage, tookMs: 0 };
      },
      isLocal: async (model: string) => !model.startsWith('work/'),
    };
    const given = params({ modelPreferences: { hints: [{ name: 'work/gpt-x' }] } });
    const sampling = createSampling(chats);
    await sampling.answer(given, { caller: server }, never);
    await sampling.answer(given, { caller: agent }, never);
    const paid = createSampling({ ...chats, defaultModel: 'work/gpt-x' });
    await paid.answer(given, { caller: server }, never);
    assert.deepEqual(asked, ['scripted:1b', 'work/gpt-x', 'work/gpt-x']);
  });

  test('that an agent names and no provider has is unknown', async () => {
    const error = await errorOf(modelOf(['claude']));
    assert.equal(error.code, 'HUB_MODEL_UNKNOWN');
    assert.match(error.message, /^Ollama has no model claude\. Get it with "ollama pull claude"/);
  });

  test('is missing if none is set', async () => {
    await using scene = await open(() => 'hi', '');
    const chats = { ...scene.chats, defaultModel: undefined };
    const error = await errorOf(createSampling(chats).answer(params(), { caller: server }, never));
    assert.equal(error.code, 'HUB_MODEL_UNKNOWN');
    assert.match(error.message, /set models\.default/);
  });
});

describe('a failure', () => {
  test.for([
    [{ text: '' }, 'HUB_MODEL_FAILED', { kind: 'empty', model: 'scripted:1b', retryable: true }],
    [
      { text: '', thinking: 'hm' },
      'HUB_MODEL_FAILED',
      { kind: 'thinking_only', model: 'scripted:1b' },
    ],
    [
      { text: '', fault: { kind: 'error', status: 400, error: 'bad' } },
      'HUB_MODEL_FAILED',
      { kind: 'refused', model: 'scripted:1b' },
    ],
    [
      { text: '', fault: { kind: 'error', status: 503, error: 'busy' } },
      'HUB_MODEL_FAILED',
      { kind: 'busy', model: 'scripted:1b', retryable: true },
    ],
    [
      { text: '', fault: { kind: 'error', status: 400, error: 'input exceeds the context' } },
      'HUB_CONTEXT_FULL',
      { kind: 'too_long', model: 'scripted:1b' },
    ],
  ] as const)('with %j is %s', async ([reply, code, data]) => {
    await using scene = await open(() => reply);
    const error = await errorOf(scene.answer(params()));
    assert.deepEqual([error.code, error.data], [code, data]);
  });

  test('with invalid params needs no model', async () => {
    await using scene = await open(() => 'hi');
    assert.equal((await errorOf(scene.answer({}))).code, 'HUB_REQUEST_INVALID');
    assert.equal(scene.sent().length, 0);
  });

  test('counts against the breaker once per request', async () => {
    await using scene = await open(() => 'hi');
    await scene.answer(params());
    await scene.ollama.stop();
    for (const _ of [1, 2, 3]) await errorOf(scene.answer(params()));
    const error = await errorOf(scene.answer(params()));
    assert.deepEqual([error.data['kind'], error.data.retryable], ['breaker_open', true]);
  });
});

test('a budget is checked before a call and charged after it', async () => {
  await using scene = await open(() => 'one two three');
  const limits = { tokensPerHour: 6, callsPerTurn: 10 };
  const budget = createBudget(() => limits, createManualClock());
  for (const _ of [1, 2]) await scene.answer(params(), { budget });
  assert.deepEqual(budget.status, { tokens: 8, calls: 2, freeAt: budget.status.freeAt });
  const error = await errorOf(scene.answer(params(), { budget }));
  assert.equal(error.code, 'HUB_BUDGET_SPENT');
  assert.equal(scene.sent().length, 2);
});

test('the list has the models that chat; none while Ollama is down', async () => {
  await using scene = await open(() => 'hi');
  scene.ollama.add({
    name: 'nomic-embed-text:latest',
    digest: 'e',
    size: 1,
    capabilities: ['embedding'],
    contextLength: 512,
  });
  assert.deepEqual(await scene.chats.names(never), ['scripted:1b', 'other:7b']);
  await scene.ollama.stop();
  assert.deepEqual(await scene.chats.names(never), []);
});
