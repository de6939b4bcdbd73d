import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defaultRules, readModels, readSettings } from '#config';
import { type Clock, HubError, messageOf, silent, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { never } from '#helpers/never';
import { modelsSchema } from '../../hub/config/models-schema.ts';
import { createModelAccess } from '../../hub/app/wire-models.ts';
import { until } from '../contracts/recorder.ts';
import { startOpenAi } from '../doubles/openai.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';

const hello = [{ role: 'user', content: { type: 'text', text: 'hello' } }];
const caller = { client: 'agent:one', kind: 'agent' } as const;

function open(
  environment: Readonly<Record<string, string>>,
  config = readModels(undefined).models,
  clock: Clock = systemClock,
) {
  const current = { models: config };
  const access = createModelAccess(readSettings(environment), {
    clock,
    log: silent,
    newId: () => 'id',
    config: () => current,
    rules: () => defaultRules,
  });
  return {
    access,
    current,
    answer: async (model?: string) =>
      await access.sampling.answer({ messages: hello, maxTokens: 10 }, { caller, model }, never),
    [Symbol.asyncDispose]: () => access.stop(),
  };
}

test('requests are answered by OLLAMA_MODEL, and by another model once a reload says so', async () => {
  await using ollama = await startScriptedOllama({
    models: [{ name: 'usual:1b' }, { name: 'other:7b' }],
    script: ({ model }) => `I am ${model}`,
  });
  const environment = { OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'usual:1b' };
  await using hub = open(environment);
  assert.equal(hub.access.defaultModel, 'usual:1b');
  assert.equal((await hub.answer())['model'], 'usual:1b');
  hub.current.models = { ...readModels(undefined).models, defaultModel: 'other:7b' };
  assert.equal(hub.access.defaultModel, 'other:7b');
  assert.equal((await hub.answer())['model'], 'other:7b');
  assert.deepEqual(await hub.access.names(never), ['usual:1b', 'other:7b']);
});

test('a model that chats has one context size, for prompts too', async () => {
  await using ollama = await startScriptedOllama({ script: () => 'hi' });
  const config = {
    ...readModels(undefined).models,
    contextTokens: 32_768,
    defaultModel: 'scripted:1b',
  };
  await using hub = open({ OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'scripted:1b' }, config);
  const { contextSizes } = await hub.access.open();
  assert.equal(contextSizes.forPrompt('scripted:1b'), 32_768);
  await hub.answer();
  const [sent] = ollama.received('/api/chat');
  assert.deepEqual(sent?.body['options'], { num_ctx: 32_768, num_predict: 10 });
});

test('a provider answers for its models without Ollama, with the settings of the last reload', async () => {
  const key = 'sk-very-secret';
  await using first = await startOpenAi(() => 'first', { key });
  await using second = await startOpenAi(() => 'second', { key });
  const provider = (url: string, withKey = key) => ({
    ...readModels(undefined).models,
    defaultModel: 'work/gpt-x',
    providers: {
      work: { url, key: withKey, keyFault: undefined, contextTokens: undefined, parallel: 1 },
    },
  });
  await using hub = open({}, provider(first.url));
  const texts = async () => JSON.stringify((await hub.answer())['content']);
  assert.match(await texts(), /first/);
  assert.match(await texts(), /first/);
  hub.current.models = provider(second.url);
  assert.match(await texts(), /second/);
  assert.equal(first.received().length, 2);
  assert.deepEqual(await hub.access.names(never), ['work/']);
  hub.current.models = provider(second.url, 'sk-other-secret');
  await assert.rejects(hub.answer(), (error: unknown) => {
    assert.ok(error instanceof HubError);
    assert.deepEqual([error.code, error.data['kind']], ['HUB_MODEL_FAILED', 'unauthorized']);
    assert.ok(!/secret/.test(error.message), error.message);
    return true;
  });
});

test('the context size of each model is known, and requests are counted for all models', async () => {
  await using endpoint = await startOpenAi(() => 'fine');
  const work = {
    url: endpoint.url,
    key: undefined,
    keyFault: undefined,
    contextTokens: 4096,
    parallel: 1,
  };
  const config = { ...readModels(undefined).models, providers: { work } };
  await using hub = open({}, config);
  assert.equal(hub.access.opened(), undefined);
  assert.equal(await hub.access.contextTokens('work/gpt-x'), 4096);
  assert.equal(await hub.access.contextTokens('llama3.2:3b'), 8192);
  await hub.answer('work/gpt-x');
  const { models } = (await hub.access.opened()) ?? {};
  const { breaker, models: counts, queues } = models?.metrics() ?? {};
  assert.deepEqual([breaker, queues], [undefined, []]);
  assert.deepEqual(
    counts?.map(({ model, callers }) => [model, callers]),
    [['work/gpt-x', [{ caller: 'agent', succeeded: 1, promptTokens: 11, outputTokens: 7 }]]],
  );
});

test('the context size of a model is at most the one that it was trained with', async () => {
  await using ollama = await startScriptedOllama({
    models: [
      { name: 'small:1b', contextLength: 8_192 },
      { name: 'large:7b', contextLength: 131_072 },
    ],
    script: () => 'hi',
  });
  const config = { ...readModels(undefined).models, contextTokens: 32_768 };
  await using hub = open({ OLLAMA_HOST: ollama.url }, config);
  assert.equal(await hub.access.contextTokens('small:1b'), 8_192);
  assert.equal(await hub.access.contextTokens('large:7b'), 32_768);
  assert.equal(await hub.access.contextTokens('missing:1b'), 32_768);
});

test('a model that is silent is given up after the time of the config, and the error names its key', async () => {
  const silence = () => new Promise<never>(() => {});
  await using ollama = await startScriptedOllama({ script: silence });
  await using endpoint = await startOpenAi(silence);
  const { models } = readModels({
    ...modelsSchema.parse({ silence_seconds: 10 }),
    providers: { work: { url: endpoint.url, parallel: 1 } },
  });
  const clock = createManualClock();
  await using hub = open({ OLLAMA_HOST: ollama.url }, models, clock);
  for (const [model, sent] of [
    ['scripted:1b', () => ollama.received('/api/chat').length],
    ['work/gpt-x', () => endpoint.received().length],
  ] as const) {
    const answer = hub.answer(model).catch(messageOf);
    await until(() => sent() === 1, 'the request');
    clock.advance(10_000);
    assert.equal(await answer, `${model} was silent for 10 s. Raise "models.silence_seconds"`);
  }
});

test('a request for a model after the stop is refused without a request to Ollama', async () => {
  await using ollama = await startScriptedOllama({ script: () => 'hi' });
  await using hub = open({ OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'scripted:1b' });
  await hub.access.stop();
  const refused = { code: 'HUB_SHUTTING_DOWN' };
  await assert.rejects(hub.answer(), refused);
  await assert.rejects(hub.access.runs.list(never), refused);
  await assert.rejects(hub.access.contextTokens('scripted:1b'), refused);
  assert.deepEqual(await hub.access.names(never), []);
  assert.equal(hub.access.opened(), undefined);
  assert.equal(ollama.received().length, 0);
});

test('without Ollama a request fails with the setting to add', async () => {
  await using hub = open({});
  assert.equal(hub.access.defaultModel, undefined);
  await assert.rejects(hub.answer(), { code: 'HUB_MODEL_UNKNOWN', message: /OLLAMA_HOST/ });
  await assert.rejects(hub.answer('llama3.2:3b'), {
    code: 'HUB_MODEL_FAILED',
    message: 'no Ollama is configured. Set OLLAMA_HOST',
  });
});
