import assert from 'node:assert/strict';
import { fastify } from 'fastify';
import { expect, test } from 'vitest';
import { HubError, isObject, silent, systemClock } from '#core';
import { createMemoryCache } from '#cache';
import { createQdrantVectors } from '#vectors';
import { createSemanticCache } from '../../hub/enhance/semantic.ts';
import { createMissingModels } from '#models';
import { problemOf, statusOf } from '../../hub/http/errors.ts';
import { ollamaRoutes } from '../../hub/http/routes/ollama.ts';
import { promptParts } from '../../hub/http/routes/health.ts';
import { startQdrant } from '../doubles/qdrant.ts';
import { never, openScene, roomy } from '../enhance/enhancer-scene.ts';
import { openTables } from '../enhance/semantic-scene.ts';
import { send } from '../transports/raw.ts';

/** Serves the routes of prompts and their health, over a real enhancer. */
async function open(
  options: Parameters<typeof openScene>[0] = {},
  wanted: ReturnType<Parameters<typeof createMissingModels>[0]> = [],
) {
  const scene = await openScene(options);
  const missing = createMissingModels(() => wanted, {
    models: scene.models,
    clock: systemClock,
    log: silent,
  });
  const prompts = async () => ({ enhancer: scene.enhancer, models: scene.models, missing });
  const app = fastify();
  app.setErrorHandler((error, _request, reply) =>
    reply.code(statusOf(error)).send(problemOf(error)),
  );
  const system = { clock: systemClock, log: silent, newId: () => 'id' };
  ollamaRoutes(app, { prompts: { open: prompts }, system });
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return {
    ...scene,
    ask: async (path: string) => await send(`${url}/ollama${path}`),
    health: async () =>
      await promptParts({
        rules: () => ({ file: undefined, from: 'built_in', loadedAt: 0 }),
        loaded: prompts,
      }),
    async [Symbol.asyncDispose]() {
      await app.close();
      await scene[Symbol.asyncDispose]();
    },
  };
}

test('an Ollama that is back improves prompts from its first answer on', async () => {
  await using hub = await open({ failureThreshold: 2 });
  assert.equal((await hub.ask('/models')).status, 200);
  await hub.ollama.stop();
  assert.equal((await hub.ask('/models')).status, 503, 'the list that was kept is not an answer');
  for (const prompt of ['one', 'two'])
    assert.equal((await hub.enhance(prompt)).source, 'unchanged');
  assert.match((await hub.enhance('three')).reason ?? '', /failed too often/);
  await hub.ollama.start();
  await hub.models.list(never);
  assert.equal((await hub.enhance('three')).source, 'model');
  assert.equal((await hub.health()).parts['ollama']?.state, 'up');
});

test('an Ollama is degraded while its breaker refuses prompts', async () => {
  await using hub = await open({ failureThreshold: 2 });
  await hub.models.list(never);
  hub.ollama.fails('/api/chat', { kind: 'html', status: 200 });
  for (const prompt of ['one', 'two']) await hub.enhance(prompt);
  assert.match((await hub.enhance('three')).reason ?? '', /failed too often/);
  const { isWell, parts } = await hub.health();
  assert.equal(isWell, false);
  expect(parts['ollama']).toMatchObject({
    state: 'degraded',
    backend: 'ollama',
    detail: expect.stringMatching(/^Ollama failed too often and is tried again in \d+ s; the last/),
  });
});

test('the part l2 has the version of Qdrant, and why it is down', async () => {
  await using qdrant = await startQdrant({ version: '1.9.7' });
  const needs = { clock: systemClock, log: silent };
  const vectors = createQdrantVectors({ url: qdrant.url }, needs);
  await using hub = await open({
    semantic: models =>
      createSemanticCache(
        { embeddingModel: 'nomic-embed-text' },
        { models, vectors, judge: undefined, tables: openTables(), ...needs },
      ),
  });
  const part = { state: 'up', backend: 'qdrant' };
  const detail = 'Qdrant 1.9.7: update it to 1.10.1 or later';
  assert.deepEqual((await hub.health()).parts['l2'], { ...part, detail });
  await qdrant.goAway();
  const { isWell, parts } = await hub.health();
  assert.equal(isWell, false);
  expect(parts['l2']).toMatchObject({
    ...part,
    state: 'down',
    detail: expect.stringMatching(/fetch failed/),
  });
  await vectors.stop();
});

test('a cache that does not know whether a prompt is kept is not reported as a miss', async () => {
  const unreachable = new HubError('HUB_CACHE_UNREACHABLE', 'it is not known whether it is kept');
  await using hub = await open({
    exact: {
      ...createMemoryCache(roomy, { clock: systemClock }),
      peek: () => Promise.reject(unreachable),
    },
  });
  const answer = await hub.ask('/cache/explain?prompt=one');
  const told = await answer.json();
  const { error } = isObject(told['l1']) ? told['l1'] : told;
  assert.match(JSON.stringify(error), /not known whether it is kept/);
});

test('the response time of Ollama is rounded', async () => {
  await using hub = await open();
  await hub.models.list(never);
  const { parts } = await hub.health();
  assert.match(String(parts['ollama']?.latency_ms), /^\d+(?:\.\d{1,2})?$/);
});

test.each([
  [
    'embedding',
    'degraded',
    /^Ollama \S+\. The embedding model absent:1 is missing\. Get it with "ollama pull absent:1"/,
  ],
  ['judge', 'degraded', /The judge model absent:1 is missing/],
  ['rule', 'degraded', /The model absent:1 is missing/],
  ['fallback', 'up', /The fallback model absent:1 is missing/],
] as const)('a missing model of use %s makes Ollama %s', async (use, state, detail) => {
  const present = { model: 'llama3.2:3b', use: 'rule' } as const;
  await using hub = await open({}, [present, { model: 'absent:1', use }]);
  const { isWell, parts } = await hub.health();
  assert.equal(isWell, state === 'up');
  assert.equal(parts['ollama']?.state, state);
  assert.match(parts['ollama'].detail ?? '', detail);
  expect(parts['ollama']).toMatchObject({ missing_models: [{ model: 'absent:1', use }] });
  await hub.ollama.stop();
  assert.equal((await hub.health()).parts['ollama']?.state, 'down');
});
