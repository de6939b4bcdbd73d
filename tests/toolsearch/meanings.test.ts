import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'vitest';
import { isObject, silent, systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { until } from '#helpers/hub';
import { ModelFailure, createModels } from '#models';
import { createBreaker } from '#resilience';
import { createJournal } from '#store';
import { createEmbeddingModel, createMeanings, createVectorStore } from '#toolsearch';
import { readToolText } from '../../hub/toolsearch/tool-text.ts';
import { type OllamaDouble, type OllamaDoubleOptions, startOllama } from '../doubles/ollama.ts';

const { signal } = new AbortController();
const textOf = (name: string, description: string) =>
  readToolText({ server: 'one', name, definition: Buffer.from(JSON.stringify({ description })) });
const texts = [textOf('read', 'Reads a file.'), textOf('mail', 'Sends a letter.')];

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'agenthub-meanings-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

/** Opens the meanings (vectors of tools) of one run of a hub. */
async function open(ollama: OllamaDouble, clock = systemClock) {
  const options = { failureThreshold: 3, recoveryMs: 1_000, trialMs: 1_000 };
  const breaker = createBreaker(options, systemClock);
  const models = createModels(
    { url: ollama.url },
    { clock: systemClock, log: silent, fetch, breaker },
  );
  await models.start(signal);
  const file = join(folder, 'vectors.jsonl');
  const meanings = createMeanings({
    model: createEmbeddingModel(() => 'nomic-embed-text', { models, clock }),
    store: createVectorStore(snapshot =>
      createJournal({ file, maxBytes: 2 ** 20, snapshot }, { log: silent }),
    ),
    clock,
    log: silent,
  });
  return {
    ...meanings,
    async prepared(wanted = texts) {
      meanings.prepare(wanted);
      await meanings.settled();
    },
    async [Symbol.asyncDispose]() {
      await meanings.stop();
      await models.stop();
      breaker[Symbol.dispose]();
    },
  };
}

const start = async (options?: OllamaDoubleOptions) => await startOllama(options);
const embedded = (ollama: OllamaDouble) =>
  ollama.received('/api/embed').map(({ body }) => (isObject(body) ? body['input'] : body));

test('tools are embedded once, in the background, and compared with queries', async () => {
  await using ollama = await start();
  {
    await using run = await open(ollama);
    assert.equal(await run.ofQuery('reads file', signal), undefined);
    await run.prepared();
    const query = await run.ofQuery('reads file', signal);
    assert.ok(query);
    const [read = 0, mail = 0] = run.compare(texts, query);
    assert.ok(read > mail, `${read} ${mail}`);
    assert.deepEqual([...run.compare([...texts, textOf('new', 'x')], query)].map(Number.isNaN), [
      false,
      false,
      true,
    ]);
    await run.ofQuery('reads file', signal);
  }
  assert.deepEqual(embedded(ollama), [
    'search_document: read: Reads a file.',
    'search_document: one read',
    'search_document: mail: Sends a letter.',
    'search_document: one mail',
    'search_query: reads file',
  ]);

  // The next run reads the vectors from the disk, and embeds only changed texts.
  await using again = await open(ollama);
  const changed = [texts[0] ?? assert.fail(), textOf('mail', 'Sends an email.')];
  await again.prepared(changed);
  assert.deepEqual(embedded(ollama).slice(5), [
    'search_document: mail: Sends an email.',
    'search_document: one mail',
  ]);
});

test('any embedding-only model is used, and vectors of two models are never compared', async () => {
  await using ollama = await start({ models: ['llama3.2:3b', 'mxbai-embed-large'] });
  {
    await using run = await open(ollama);
    await run.prepared();
    assert.equal(embedded(ollama)[0], 'read: Reads a file.');
  }
  await using other = await start();
  await using run = await open(other);
  await run.prepared();
  assert.equal(embedded(other).length, 4);
});

test('a model that is replaced between the two texts of a tool leaves no vector of both', async () => {
  const stored: string[] = [];
  const digests = ['old', 'new', 'new', 'new', 'new', 'new'];
  const meanings = createMeanings({
    model: {
      name: 'x',
      choose: async () => 'old',
      embed: async () => ({ vector: Float32Array.of(1, 0), digest: digests.shift() ?? 'new' }),
    },
    store: {
      open: async () => {},
      find: () => undefined,
      put: async key => void stored.push(key),
      close: async () => {},
    },
    clock: systemClock,
    log: silent,
  });
  meanings.prepare(texts);
  await meanings.settled();
  const scores = meanings.compare(texts, Float32Array.of(1, 0));
  assert.deepEqual([...scores], [NaN, 1.5]);
  assert.equal(stored.length, 1);
});

test('without an embedding model tools are found by words', async () => {
  await using ollama = await start({ models: ['llama3.2:3b'], pullable: [] });
  await using run = await open(ollama);
  await run.prepared();
  assert.equal(await run.ofQuery('reads file', signal), undefined);
  assert.deepEqual(embedded(ollama), []);
});

test('a failed pass is retried half a minute later', async () => {
  const clock = createManualClock();
  let tries = 0;
  const refused = async () => {
    tries++;
    throw new Error('refused');
  };
  const meanings = createMeanings({
    model: { name: undefined, choose: refused, embed: refused },
    store: createVectorStore(snapshot =>
      createJournal({ file: join(folder, 'v.jsonl'), maxBytes: 1_000, snapshot }, { log: silent }),
    ),
    clock,
    log: silent,
  });
  const prepare = async () => {
    meanings.prepare(texts);
    await meanings.settled();
  };
  await prepare();
  clock.advance(29_999);
  await prepare();
  assert.equal(tries, 1);
  clock.advance(1);
  await prepare();
  assert.equal(tries, 2);
  await meanings.stop();
});

test('tools that a model cannot embed do not keep others from it', async () => {
  const clock = createManualClock();
  const bad = ['x1', 'x2', 'x3', 'x4'].map(name => textOf(name, 'Breaks the model.'));
  const many = [...bad, ...texts];
  const asked: string[] = [];
  const meanings = createMeanings({
    model: {
      name: 'm',
      choose: async () => 'd',
      async embed(_task, text) {
        asked.push(text);
        if (text.includes('Breaks')) throw new ModelFailure('refused', 'unsupported value: NaN');
        return { vector: Float32Array.of(1, 0), digest: 'd' };
      },
    },
    store: createVectorStore(snapshot =>
      createJournal({ file: join(folder, 'v.jsonl'), maxBytes: 9_000, snapshot }, { log: silent }),
    ),
    clock,
    log: silent,
  });
  const found = async () => {
    clock.advance(30_000);
    meanings.prepare(many);
    await meanings.settled();
    const scores = meanings.compare(many, Float32Array.of(1, 0));
    return scores.filter(score => score > 0).length;
  };
  assert.deepEqual([await found(), asked.length], [0, 3], 'all tools in a row fail: the model may');
  assert.deepEqual([await found(), asked.length], [2, 11]);
  assert.equal(await found(), 2);
  await meanings.stop();
});

test('a query that a model does not embed in time is answered by words', async () => {
  await using ollama = await start();
  const clock = createManualClock();
  await using run = await open(ollama, clock);
  await run.prepared();
  ollama.fails('/api/embed', { kind: 'hang' });
  const query = run.ofQuery('reads file', signal);
  await until(() => embedded(ollama).length === 5);
  clock.advance(1_500);
  assert.equal(await query, undefined);
});
