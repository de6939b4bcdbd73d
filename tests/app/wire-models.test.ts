import assert from 'node:assert/strict';
import { test } from 'vitest';
import { defaultRules, readModels, readSettings } from '#config';
import { silent, systemClock } from '#core';
import { never } from '#helpers/never';
import { createModelAccess } from '../../hub/app/wire-models.ts';
import { startScriptedOllama } from '../doubles/scripted-model.ts';

const hello = [{ role: 'user', content: { type: 'text', text: 'hello' } }];
const caller = { client: 'agent:one', kind: 'agent' } as const;

function open(environment: Readonly<Record<string, string>>, config = readModels(undefined)) {
  const current = { models: config };
  const access = createModelAccess(readSettings(environment), {
    clock: systemClock,
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
  hub.current.models = { ...readModels(undefined), defaultModel: 'other:7b' };
  assert.equal(hub.access.defaultModel, 'other:7b');
  assert.equal((await hub.answer())['model'], 'other:7b');
  assert.deepEqual(await hub.access.names(never), ['usual:1b', 'other:7b']);
});

test('a model that chats has one context, for prompts too', async () => {
  await using ollama = await startScriptedOllama({ script: () => 'hi' });
  const config = { ...readModels(undefined), contextTokens: 32_768, defaultModel: 'scripted:1b' };
  await using hub = open({ OLLAMA_HOST: ollama.url, OLLAMA_MODEL: 'scripted:1b' }, config);
  const { contextSizes } = await hub.access.open();
  assert.equal(contextSizes.forPrompt('scripted:1b'), 32_768);
  await hub.answer();
  const [sent] = ollama.received('/api/chat');
  assert.deepEqual(sent?.body['options'], { num_ctx: 32_768, num_predict: 10 });
});

test('without Ollama a request says what to set', async () => {
  await using hub = open({});
  assert.equal(hub.access.defaultModel, undefined);
  await assert.rejects(hub.answer(), { code: 'HUB_MODEL_UNKNOWN', message: /OLLAMA_HOST/ });
  await assert.rejects(hub.answer('llama3.2:3b'), {
    code: 'HUB_MODEL_FAILED',
    message: 'no Ollama is configured. Set OLLAMA_HOST',
  });
});
