import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createRecordingLog, until } from '#helpers/hub';
import { createMissingModels } from '#models';
import { type OllamaDouble, modelNamed, startOllama } from '../doubles/ollama.ts';
import { failureOf, never, openStill } from './scene.ts';

const chatter = { model: 'llama3.2:3b', use: 'rule' } as const;
const embedder = { model: 'nomic-embed-text', use: 'embedding' } as const;
const judge = { model: 'judge:1', use: 'judge' } as const;
const fallback = { model: 'phi3:mini', use: 'fallback' } as const;

/** Watches for missing models over an Ollama double with a manual clock, until disposed. */
function open(ollama: Pick<OllamaDouble, 'url'>, first: Parameters<typeof createMissingModels>[0]) {
  const scene = openStill(ollama.url);
  const { log, logged } = createRecordingLog();
  let wanted = first;
  const { models, clock } = scene;
  const missing = createMissingModels(() => wanted(), { models, clock, log });
  return {
    ...scene,
    missing,
    want: (models: ReturnType<typeof first>) => void (wanted = () => models),
    messages: async () => (await missing.check()).map(({ message }) => message),
    logged: () => logged.map(({ level, message, fields }) => [level, message, fields]),
    async [Symbol.asyncDispose]() {
      await missing.stop();
      await scene[Symbol.asyncDispose]();
    },
  };
}

describe('models that are missing', () => {
  test('are listed with their use and the command that pulls them', async () => {
    await using ollama = await startOllama({ models: ['llama3.2:3b'] });
    await using scene = open(ollama, () => [chatter, embedder, judge, fallback]);
    assert.deepEqual(
      (await scene.missing.check()).map(({ model, use, isPulled }) => [model, use, isPulled]),
      [embedder, judge, fallback].map(({ model, use }) => [model, use, false]),
    );
    const [first, second, third] = await scene.messages();
    assert.match(
      first ?? '',
      /^The embedding model nomic-embed-text is missing\. Get it with "ollama pull nomic-embed-text"/,
    );
    assert.match(second ?? '', /^The judge model judge:1 is missing\. Get it/);
    assert.match(third ?? '', /^The fallback model phi3:mini is missing\. Get it/);
  });

  test('are logged once, and again when they appear and disappear', async () => {
    await using ollama = await startOllama({ models: ['llama3.2:3b'] });
    await using scene = open(ollama, () => [chatter, embedder, fallback]);
    const next = async () => {
      scene.clock.advance(30_000);
      await scene.missing.check();
    };
    for (const _ of [1, 2, 3]) await next();
    const missing = 'a model that the rules name is missing';
    const remedies = [embedder, fallback].map(({ model }) => scene.models.absence(model).remedy);
    const gone = ['warn', missing, { ...embedder, remedy: remedies[0] }];
    assert.deepEqual(scene.logged(), [
      gone,
      ['info', missing, { ...fallback, remedy: remedies[1] }],
    ]);
    ollama.add(modelNamed(embedder.model));
    for (const _ of [1, 2]) await next();
    const there = ['info', 'a missing model is available now', embedder];
    assert.deepEqual(scene.logged().slice(2), [there]);
    ollama.remove(embedder.model);
    for (const _ of [1, 2]) await next();
    assert.deepEqual(scene.logged().slice(3), [gone]);
    // A model that the rules no longer name is not reported as found.
    scene.want([chatter]);
    await next();
    assert.equal(scene.logged().length, 4);
  });

  test('are checked at the start and every 30 s, until the hub stops', async () => {
    await using ollama = await startOllama({ models: [] });
    await using scene = open(ollama, () => [embedder]);
    const lists = () => ollama.received('/api/tags').length;
    await scene.missing.start(never);
    await until(() => scene.logged().length === 1);
    ollama.add(modelNamed(embedder.model));
    scene.clock.advance(29_999);
    assert.equal(lists(), 1);
    scene.clock.advance(1);
    await until(() => scene.logged().length === 2);
    await scene.missing.stop();
    scene.clock.advance(60_000);
    assert.equal(lists(), 2);
    assert.deepEqual(await scene.missing.check(), []);
  });

  test('are not checked if the rules need none', async () => {
    await using ollama = await startOllama({ models: [] });
    await using scene = open(ollama, () => []);
    assert.deepEqual(await scene.missing.check(), []);
    assert.deepEqual(ollama.received(), []);
  });

  test('are reported as being pulled, with the progress, while the hub pulls them', async () => {
    await using ollama = await startOllama({ models: [], pullable: ['nomic-embed-text'] });
    await using scene = open(ollama, () => [embedder, judge]);
    scene.models.planPulls([judge.model]);
    const held = Promise.withResolvers<void>();
    ollama.fails('/api/pull', {
      kind: 'paced',
      before: async line => void (line === 3 && (await held.promise)),
    });
    let percent: number | undefined;
    const pulled = scene.models.pull(
      embedder.model,
      ({ completedBytes }) => void (percent = completedBytes),
      never,
    );
    await until(() => percent !== undefined);
    assert.deepEqual(await scene.messages(), [
      'The embedding model nomic-embed-text is missing. It is being pulled: 49 % of 2 GB',
      'The judge model judge:1 is missing. The hub will pull it',
    ]);
    assert.deepEqual(
      scene.logged().map(([level]) => level),
      ['info', 'info'],
    );
    const failure = await failureOf(scene.models.embed(embedder.model, 'text', never));
    assert.match(failure.message, /has no model nomic-embed-text\. It is being pulled: 49 %/);
    held.resolve();
    await pulled;
    assert.equal((await scene.messages()).length, 1);
    ollama.remove(embedder.model);
    assert.equal(scene.models.absence(embedder.model).isPulled, false);
  });
});

const url = process.env['OLLAMA_URL'];

test.skipIf(url === undefined)(
  'a real Ollama, at OLLAMA_URL, is missing models that it does not list',
  async () => {
    await using scene = open({ url: url ?? '' }, () => []);
    const [there] = await scene.models.list(never);
    assert.ok(there, 'it needs a model');
    const gone = { model: 'not-there:1b', use: 'judge' } as const;
    scene.want([{ model: there.name, use: 'rule' }, gone]);
    for (const _ of [1, 2])
      assert.deepEqual(await scene.messages(), [
        `The judge model not-there:1b is missing. ${scene.models.absence(gone.model).remedy}`,
      ]);
    assert.match(scene.models.absence(gone.model).remedy, /"ollama pull not-there:1b"/);
    assert.deepEqual(
      scene.logged().map(([level]) => level),
      ['warn'],
    );
  },
);

describe('an Ollama that does not answer', () => {
  test('has the missing models of the last check, and checks do not affect its breaker', async () => {
    await using ollama = await startOllama({ models: ['llama3.2:3b'] });
    await using scene = open(ollama, () => [chatter, embedder]);
    await ollama.stop();
    for (const _ of [1, 2, 3, 4]) assert.deepEqual(await scene.missing.check(), []);
    assert.equal(scene.breaker.snapshot().failures, 0);
    await ollama.start();
    assert.equal((await scene.missing.check()).length, 1);
    await ollama.stop();
    assert.equal((await scene.missing.check()).length, 1);
  });

  test('delays a check by 2 s at most', async () => {
    await using ollama = await startOllama();
    await using scene = open(ollama, () => [chatter]);
    ollama.fails('/api/tags', { kind: 'hang' });
    const checking = scene.missing.check();
    await until(() => ollama.received('/api/tags').length === 1);
    scene.clock.advance(2_000);
    assert.deepEqual(await checking, []);
  });
});
