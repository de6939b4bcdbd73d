// Loads the package early. Otherwise its import at the first call would exceed the short timeouts of tests.
import '@qdrant/js-client-rest';
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { silent, systemClock } from '#core';
import { createSemanticCache } from '../../hub/enhance/semantic.ts';
import { until } from '#helpers/hub';
import { type Vectors, createEmbeddedVectors, createQdrantVectors } from '#vectors';
import { busy } from '../doubles/ollama.ts';
import { type QdrantFault, startQdrant } from '../doubles/qdrant.ts';
import { type RulesChanges, quick } from './rules-of.ts';
import { openTables } from './semantic-scene.ts';
import { type Scene, never, openScene } from './enhancer-scene.ts';

const lateMs = 500;
const prompt = 'explain how the file config.yaml is parsed';
/** The same prompt in other words, so that the exact cache does not find it. */
const reworded = 'describe the way the file config.yaml is parsed';
/** A prompt with nearly the same words, but another meaning. */
const otherWay = 'explain how the file config.yaml is not parsed';

/** Enhancer with a semantic cache, which finds prompts of the same meaning. */
type NearScene = Scene & { readonly vectors: Vectors };

type Options = RulesChanges & { readonly vectors?: Vectors };

/** The cosines of the double say nothing about meaning, so a low threshold leaves the decision to the guards. */
const near = { threshold: 0.2, cacheMode: 'threshold' } as const;

async function openNear(options: Options = {}): Promise<NearScene> {
  const stack = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), 'agenthub-enhance-'));
  stack.defer(() => rm(folder, { recursive: true, force: true }));
  const clock = systemClock;
  const vectors =
    options.vectors ??
    createEmbeddedVectors(join(folder, 'vectors.sqlite'), { clock, log: silent });
  await vectors.start(never);
  stack.defer(() => vectors.stop());
  const scene = stack.use(
    await openScene({
      ...options,
      rule: { ...near, ...options.rule },
      semantic: models =>
        createSemanticCache(
          { embeddingModel: 'nomic-embed-text' },
          {
            models,
            vectors,
            judge: undefined,
            tables: openTables(),
            clock,
            log: silent,
          },
        ),
    }),
  );
  return { ...scene, vectors, [Symbol.asyncDispose]: () => stack.disposeAsync() };
}

/** Improves a prompt, and waits until the semantic cache contains it. */
async function keep(scene: NearScene, text: string, client?: string): Promise<void> {
  const before = (await scene.vectors.stats()).entries ?? 0;
  assert.equal((await scene.enhance(text, { client })).source, 'model');
  let entries = before;
  await until(() => {
    void scene.vectors.stats().then(stats => (entries = stats.entries ?? 0));
    return entries > before;
  });
}

describe('a prompt with the same meaning as an earlier one', () => {
  test('gets its result, with similarity and age', async () => {
    await using scene = await openNear();
    await keep(scene, prompt);
    const done = await scene.enhance(reworded);
    assert.deepEqual(
      [done.enhanced, done.source, done.cache, done.model],
      [true, 'l2', 'hit_l2', 'llama3.2:3b'],
    );
    assert.ok((done.similarity ?? 0) > near.threshold && (done.similarity ?? 2) < 1);
    assert.ok((done.ageMs ?? -1) >= 0);
    assert.equal(scene.asked().length, 1);
  });

  test('gets its result only if the guards, or a judge, say that the meaning is the same', async () => {
    await using scene = await openNear();
    await keep(scene, prompt);
    assert.equal((await scene.enhance(otherWay)).source, 'model');
  });

  test.each<readonly [string, RulesChanges, string | undefined]>([
    ['client', {}, 'other'],
    ['rule', { clients: { one: {} } }, 'one'],
    ['model', { rule: { ...near, model: 'phi3:mini' } }, 'one'],
    ['system prompt', { rule: { ...near, systemPrompt: 'Otherwise.' } }, 'one'],
    ['mode, off', { rule: { ...near, cacheMode: 'off' } }, 'one'],
    ['mode, shadow', { rule: { ...near, cacheMode: 'shadow' } }, 'one'],
    ['threshold', { rule: { ...near, threshold: 0.999 } }, 'one'],
  ])('does not get its result under another %s', async (_what, changes, client) => {
    await using scene = await openNear();
    await keep(scene, prompt, 'one');
    assert.equal((await scene.enhance(reworded, { client: 'one' })).source, 'l2');
    scene.follow({ rule: near, ...changes });
    const done = await scene.enhance(`${reworded}!`, { client });
    assert.equal(done.source, 'model');
  });

  test('does not get its result with a bypass of caches, or if it contains a secret', async () => {
    await using scene = await openNear();
    await keep(scene, prompt);
    const secret = 'explain the file with password=hunter2-correct-horse in it';
    for (const bypass of [false, true]) await scene.enhance(secret, { bypass });
    assert.equal((await scene.vectors.stats()).entries, 1);
    assert.equal((await scene.enhance(reworded, { bypass: true })).source, 'model');
    assert.ok(
      !scene.ollama
        .received('/api/embed')
        .some(({ body }) => JSON.stringify(body).includes('hunter2')),
    );
  });

  test('gets the new result once a request has bypassed the caches', async () => {
    await using scene = await openNear();
    await keep(scene, prompt);
    const anew = 'Explain step by step how the file config.yaml is parsed.';
    scene.ollama.says(anew);
    assert.equal((await scene.enhance(prompt, { bypass: true })).source, 'model');
    let found = '';
    await until(() => {
      void scene.enhance(reworded).then(done => (found = `${done.source} ${done.prompt}`));
      return found === `l2 ${anew}`;
    });
    assert.equal((await scene.vectors.stats()).entries, 1);
  });

  test('never gets the result of a fallback model', async () => {
    await using scene = await openNear({ fallbackChain: ['phi3:mini'] });
    await scene.models.list(never);
    scene.ollama.fails('/api/chat', busy, 1);
    assert.equal((await scene.enhance(prompt)).source, 'fallback');
    assert.equal((await scene.enhance(reworded)).source, 'model');
  });

  test('is explained by the nearest entries, and the verdict of the guards', async () => {
    await using scene = await openNear();
    await keep(scene, prompt);
    const stats = await scene.enhancer.stats();
    assert.deepEqual(stats.semantic?.threshold, { value: near.threshold, from: 'rule' });
    const { semantic } = await scene.enhancer.explain(otherWay, undefined, never);
    assert.deepEqual(
      [semantic?.mode, semantic?.threshold],
      ['threshold', { value: near.threshold, from: 'rule' }],
    );
    const [entry] = semantic?.entries ?? [];
    assert.equal(entry?.prompt, prompt);
    assert.equal(entry.verdict, 'different');
    assert.match(entry.why, /“not”/);
  });

  test('gets no result once results were forgotten', async () => {
    await using scene = await openNear();
    await keep(scene, prompt, 'one');
    assert.deepEqual(await scene.enhancer.forget('one'), { exact: 1, semantic: 1 });
    assert.equal((await scene.enhance(reworded, { client: 'one' })).source, 'model');
  });

  test('gets no result that was being made when all results were forgotten', async () => {
    await using scene = await openNear({ rule: { totalMs: 20_000, loadMs: 10_000 } });
    const held = Promise.withResolvers<void>();
    scene.ollama.fails('/api/chat', { kind: 'slow', until: held.promise }, 1);
    const asked = scene.enhance(prompt);
    await until(() => scene.asked().length === 1);
    await scene.enhancer.forget();
    held.resolve();
    assert.equal((await asked).source, 'model');
    await keep(scene, 'another prompt about something else');
    assert.equal((await scene.vectors.stats()).entries, 1);
    assert.equal((await scene.enhance(reworded)).source, 'model');
  });

  test('gets no result that was being stored when all results were forgotten', async () => {
    await using scene = await openNear();
    const held = Promise.withResolvers<void>();
    scene.ollama.fails('/api/embed', { kind: 'slow', until: held.promise });
    assert.equal((await scene.enhance(prompt)).source, 'model');
    await until(() => scene.ollama.received('/api/embed').length === 2);
    await scene.enhancer.forget();
    held.resolve();
    scene.ollama.heals();
    await keep(scene, 'another prompt about something else');
    assert.equal((await scene.vectors.stats()).entries, 1);
  });

  test('is improved by the model if it cannot be embedded', async () => {
    await using scene = await openNear();
    scene.ollama.remove('nomic-embed-text');
    assert.equal((await scene.enhance(prompt)).source, 'model');
    scene.ollama.fails('/api/embed', { kind: 'hang' });
    assert.equal((await scene.enhance(reworded)).source, 'model');
  });
});

describe('with a Qdrant that', () => {
  test.each<QdrantFault>([
    'hangs',
    'hangs_midway',
    'resets',
    'fails',
    'is_busy',
    'is_a_page',
    'is_behind_a_page',
    'is_another_api',
  ])('%s, prompts are improved in time and found for the same prompt', async fault => {
    await using qdrant = await startQdrant();
    const vectors = createQdrantVectors({ url: qdrant.url }, { clock: systemClock, log: silent });
    await using scene = await openNear({ vectors, rule: { totalMs: 6_000 } });
    await keep(scene, prompt);
    assert.equal((await scene.enhance(reworded)).source, 'l2');
    qdrant.fault = fault;
    const done = await scene.enhance(`${reworded}!`);
    assert.equal(done.source, 'model');
    assert.ok(done.tookMs < 6_000 + lateMs, `${done.tookMs} ms`);
    assert.equal((await scene.enhance(`${reworded}!`)).source, 'l1');
    qdrant.fault = undefined;
  });

  test('is absent, prompts are improved', async () => {
    const qdrant = await startQdrant();
    await qdrant[Symbol.asyncDispose]();
    const vectors = createQdrantVectors({ url: qdrant.url }, { clock: systemClock, log: silent });
    await using scene = await openNear({ vectors });
    const done = await scene.enhance(prompt);
    assert.equal(done.source, 'model');
    assert.ok(done.tookMs < quick.totalMs + lateMs, `${done.tookMs} ms`);
    const { semantic } = await scene.enhancer.explain(prompt, undefined, never);
    assert.ok(semantic?.error, 'it says why nothing is seen');
    await assert.rejects(scene.enhancer.forget(), { code: 'HUB_CACHE_UNREACHABLE' });
  });

  test('has vectors of another length, prompts are improved', async () => {
    await using qdrant = await startQdrant();
    const vectors = createQdrantVectors({ url: qdrant.url }, { clock: systemClock, log: silent });
    const wrong: Vectors = {
      ...vectors,
      put: (collection, point, ...more) =>
        vectors.put(collection, { ...point, vector: Float32Array.of(1, 0) }, ...more),
    };
    await using scene = await openNear({ vectors: wrong });
    await keep(scene, prompt);
    const done = await scene.enhance(reworded);
    assert.equal(done.source, 'model');
    const { semantic } = await scene.enhancer.explain(reworded, undefined, never);
    assert.match(semantic?.error ?? '', /dim: 2, got 768/);
  });

  test('is down, like Ollama and all else, the prompt is returned unchanged', async () => {
    const qdrant = await startQdrant();
    await qdrant[Symbol.asyncDispose]();
    const vectors = createQdrantVectors({ url: qdrant.url }, { clock: systemClock, log: silent });
    await using scene = await openNear({ vectors });
    await scene.ollama.stop();
    const done = await scene.enhance(prompt);
    assert.deepEqual([done.prompt, done.source], [prompt, 'unchanged']);
  });
});
