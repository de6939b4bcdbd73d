import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { systemClock } from '#core';
import { createManualClock } from '#helpers/clock';
import { until } from '../contracts/recorder.ts';
import { type OllamaDoubleOptions, modelNamed, startOllama } from '../doubles/ollama.ts';
import { asking, failureOf, kindOf, never, openModels } from './scene.ts';
import { createRecordingLog } from '#helpers/recording-log';
import { createWarmUps } from '../../hub/models/warm-up.ts';
import { type Answer, hang, linesOf, openScripted } from './scripted.ts';

describe('warming up', () => {
  test('loads models before they are used, with the options of later calls', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    scene.models.warmUp('llama3.2:3b', { num_ctx: 2048 });
    scene.models.warmUp('llama3.2:3b', { num_ctx: 2048 });
    scene.models.warmUp('nomic-embed-text');
    const isThere = () => ollama.isLoaded('llama3.2:3b') && ollama.isLoaded('nomic-embed-text');
    await until(isThere, 'both models in memory');
    const [body, ...more] = ollama.received('/api/chat').map(request => request.body);
    assert.deepEqual(more, []);
    assert.deepEqual(
      [body?.['messages'], body?.['options'], body?.['keep_alive']],
      [[], { num_ctx: 2048 }, '30m'],
    );
  });

  test('loads a model so that the next prompt and chat need not load it again', async () => {
    await using ollama = await startOllama({ times: { clock: systemClock } });
    await using scene = openModels(ollama.url);
    scene.models.warmUp('llama3.2:3b', { num_ctx: 2048 });
    await until(() => ollama.loads === 1, 'the model in memory');
    await scene.models.complete(asking({ options: { num_ctx: 2048 } }), never);
    assert.equal(ollama.loads, 1);
  });

  test('goes on for a prompt that was given up while its model was loaded', async () => {
    await using scene = await openSlow();
    const { ollama, models, clock } = scene;
    const prompt = asking({ options: { num_ctx: 2048 } });
    const failing = kindOf(models.complete({ ...prompt, totalMs: 1_000 }, never));
    await until(() => ollama.works === 1, 'the load');
    clock.advance(1_000);
    assert.equal(await failing, 'timeout');
    await scene.loadLater('/api/chat');
    const load = ollama.received('/api/chat')[1]?.body;
    assert.deepEqual([load?.['messages'], load?.['options']], [[], { num_ctx: 2048 }]);
    await models.complete(prompt, never);
    assert.equal(ollama.loads, 2);
  });

  test('goes on for an embedding that was cancelled while its model was loaded', async () => {
    await using scene = await openSlow();
    const controller = new AbortController();
    const failing = kindOf(scene.models.embed('nomic-embed-text', 'text', controller.signal));
    await until(() => scene.ollama.works === 1, 'the load');
    controller.abort();
    assert.equal(await failing, 'cancelled');
    await scene.loadLater('/api/embed');
    await scene.models.embed('nomic-embed-text', 'text', never);
    assert.equal(scene.ollama.loads, 2);
  });

  test('goes on as an embedding for a model of which only /api/show says that it embeds', async () => {
    const model = 'paraphrase-multilingual';
    await using scene = await openSlow({ models: [], listsCapabilities: false });
    scene.ollama.add(modelNamed(model, { capabilities: ['embedding'] }));
    const controller = new AbortController();
    const failing = kindOf(scene.models.embed(model, 'text', controller.signal));
    await until(() => scene.ollama.works === 1, 'the load');
    controller.abort();
    assert.equal(await failing, 'cancelled');
    await scene.loadLater('/api/embed');
    await scene.models.embed(model, 'text', never);
    assert.equal(scene.ollama.loads, 2);
  });

  test('goes on for a prompt that was given up when the list of models was no longer fresh', async () => {
    await using scene = await openSlow({ loadMs: 90_000 });
    const { ollama, models, clock } = scene;
    const failing = kindOf(
      models.complete(asking({ firstTokenMs: 60_000, totalMs: 60_000 }), never),
    );
    await until(() => ollama.works === 1, 'the load');
    clock.advance(60_000);
    assert.equal(await failing, 'timeout');
    await until(() => ollama.received('/api/chat').length === 2, 'the next load');
  });

  test('does not follow an embedding that was cancelled while it waited for its turn', async () => {
    await using scene = await openSlow();
    const controller = new AbortController();
    const embed = (signal = never) => scene.models.embed('nomic-embed-text', 'text', signal);
    const active = Promise.allSettled([embed(), embed(), embed(), embed()]);
    await until(() => scene.ollama.works === 1, 'the load');
    const failing = kindOf(embed(controller.signal));
    await scene.models.find('nomic-embed-text', never);
    controller.abort();
    assert.equal(await failing, 'cancelled');
    // Asks Ollama whether it is alive.
    await scene.models.list(never);
    assert.equal(scene.ollama.received('/api/embed').length, 4);
    scene.clock.advance(5_000);
    await active;
  });

  test('does not follow a prompt that was cancelled', async () => {
    await using scene = await openSlow();
    const controller = new AbortController();
    const failing = kindOf(scene.models.complete(asking(), controller.signal));
    await until(() => scene.ollama.works === 1, 'the load');
    controller.abort();
    assert.equal(await failing, 'cancelled');
    await scene.models.find('llama3.2:3b', never);
    assert.equal(scene.ollama.received('/api/chat').length, 1);
  });

  test('is named as the reason by a prompt that waited for it', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/chat', { kind: 'hang' });
    scene.models.warmUp('llama3.2:3b');
    await until(() => ollama.received('/api/chat').length === 1, 'the request');
    const { kind, message } = await failureOf(
      scene.models.complete(asking({ totalMs: 50 }), never),
    );
    assert.equal(kind, 'queue');
    assert.match(message, /^it waited [\d.]+ (?:ms|s) for the model to be loaded$/);
  });

  test('ignores a failure, and ends with the hub', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/chat', { kind: 'hang' });
    scene.models.warmUp('no-such-model');
    scene.models.warmUp('llama3.2:3b');
    await until(() => ollama.received('/api/chat').length === 1, 'the request');
    await scene.models.stop();
    await until(() => ollama.received('/api/chat')[0]?.isAbandoned === true, 'a free Ollama');
    scene.models.warmUp('nomic-embed-text');
    assert.equal(ollama.received('/api/embed').length, 0);
  });
});

/** Opens models of an Ollama that takes 5 s to load one, with a manual clock for both. */
async function openSlow({
  loadMs = 5_000,
  ...options
}: OllamaDoubleOptions & { readonly loadMs?: number } = {}) {
  const clock = createManualClock();
  const ollama = await startOllama({ ...options, times: { clock, loadMs } });
  const { models, ...scene } = openModels(ollama.url, clock);
  return {
    clock,
    ollama,
    models,
    /** Resolves when the load that was given up is over, and the next one has been made by a request to `path`. */
    async loadLater(path: string): Promise<void> {
      await until(() => ollama.received(path)[0]?.isAbandoned === true, 'the end of the call');
      await until(() => ollama.received(path).length === 2, 'the next call');
      clock.advance(5_000);
      await until(() => ollama.works === 2, 'the next load');
      clock.advance(5_000);
    },
    async [Symbol.asyncDispose]() {
      await scene[Symbol.asyncDispose]();
      await ollama[Symbol.asyncDispose]();
    },
  };
}

function openWarmUps(answer: Answer) {
  const scene = openScripted(answer);
  const { promise: logged, resolve } = Promise.withResolvers<readonly [string, object]>();
  const { log } = createRecordingLog();
  const info = (fields: object, message: string) => resolve([message, fields]);
  const { warmUp } = createWarmUps({ ...scene, log: { ...log, info }, life: scene.life.signal });
  return { ...scene, logged, warmUp };
}

describe('a model that is to be loaded', () => {
  const hasModels = (...names: readonly string[]) =>
    Response.json({ models: names.map(name => ({ name })) });

  test.for([
    ['all-minilm:33m', '/api/embed'],
    ['bge-m3:latest', '/api/embed'],
    ['mxbai-embed-large:latest', '/api/embed'],
    ['qwen3:8b', '/api/chat'],
  ] as const)(
    'is recognized by its name if Ollama does not list capabilities: %s',
    async ([name, expected]) => {
      const { warmUp, logged, sent } = openWarmUps(({ path }) => {
        if (path === '/api/tags') return hasModels(name);
        return path === '/api/embed'
          ? Response.json({})
          : path === '/api/chat'
            ? linesOf({ done: true })
            : undefined;
      });
      warmUp(name, { num_ctx: 1 });
      assert.deepEqual(await logged, ['the model is loaded', { model: name }]);
      assert.equal(sent.at(-1)?.path, expected);
      assert.deepEqual(sent.at(-1)?.body['options'], { num_ctx: 1 });
    },
  );

  test('and is missing is logged', async () => {
    const { warmUp, logged } = openWarmUps(() => undefined);
    warmUp('none', {});
    const error =
      'Ollama has no model none:latest. Get it with "ollama pull none:latest" or POST /ollama/models/none:latest/pull';
    const fields = { model: 'none:latest', kind: 'missing', error };
    assert.deepEqual(await logged, ['the model could not be loaded in advance', fields]);
  });

  test('and fails with an error that is an object is logged', async () => {
    const { warmUp, logged } = openWarmUps(({ path }) => {
      if (path === '/api/tags') return hasModels('chat');
      return path === '/api/chat' ? linesOf({ error: { message: 'no memory' } }) : undefined;
    });
    warmUp('chat', {});
    const error = 'Ollama stopped with an error: no memory';
    const fields = { model: 'chat:latest', kind: 'refused', error };
    assert.deepEqual(await logged, ['the model could not be loaded in advance', fields]);
  });

  test('is skipped if eight are being loaded', async () => {
    const names = Array.from({ length: 9 }, (_, number) => `m${number}:latest`);
    const { promise: eight, resolve } = Promise.withResolvers<void>();
    const chats: unknown[] = [];
    const { warmUp, life } = openWarmUps(({ path, body }, signal) => {
      if (path === '/api/tags') return hasModels(...names);
      if (path !== '/api/chat') return undefined;
      if (chats.push(body['model']) === 8) resolve();
      return hang(signal);
    });
    for (const name of names) warmUp(name, {});
    await eight;
    await new Promise(next => setImmediate(next));
    assert.deepEqual(chats, names.slice(0, 8));
    life.abort(new Error('the hub stops'));
  });
});
