import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createAbsences } from '../../hub/models/absence.ts';
import { createCapabilities } from '../../hub/models/capabilities.ts';
import { createModelList } from '../../hub/models/model-list.ts';
import { modelNamed, startOllama } from '../doubles/ollama.ts';
import { kindOf, never, openStill } from './scene.ts';
import { type Answer, hang, openScripted } from './scripted.ts';

const embedder = {
  name: 'embed:latest',
  digest: 'e',
  sizeBytes: 1,
  isLoaded: false,
  capabilities: undefined,
};

function open(answer: Answer) {
  const scene = openScripted(answer);
  const capabilitiesOf = createCapabilities(scene);
  return {
    ...scene,
    ask: async (model = embedder, signal = never) =>
      (await capabilitiesOf(model, signal)).capabilities,
  };
}

const embedding = () => Response.json({ capabilities: ['embedding'] });

describe('an Ollama that lists models without capabilities', () => {
  test('is asked for those of each model once, until the model changes', async () => {
    await using ollama = await startOllama({ listsCapabilities: false });
    await using scene = openStill(ollama.url);
    const shown = () => ollama.received('/api/show').map(({ body }) => body['model']);
    const capabilities = async (name: string) =>
      (await scene.models.find(name, never))?.capabilities;
    assert.deepEqual(await capabilities('nomic-embed-text'), ['embedding']);
    assert.deepEqual(shown(), ['nomic-embed-text:latest']);
    for (const _ of [1, 2]) {
      const models = await scene.models.list(never);
      assert.deepEqual(
        models.map(model => model.capabilities),
        [['completion', 'tools'], ['embedding']],
      );
      scene.clock.advance(30_000);
    }
    assert.deepEqual(shown(), ['nomic-embed-text:latest', 'llama3.2:3b']);
    ollama.add(modelNamed('llama3.2:3b', { digest: 'f'.repeat(64), capabilities: ['vision'] }));
    assert.deepEqual(await capabilities('llama3.2:3b'), ['vision']);
    assert.equal(shown().length, 3);
  });

  test('is not asked if the list has them', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    assert.deepEqual(ollama.received('/api/show'), []);
  });

  test('is asked if the list has those of a file that it could not read', async () => {
    const details = { family: 'bert', quantization_level: 'F16' };
    const listed = { name: 'embed:latest', digest: 'e', details, capabilities: ['completion'] };
    const scene = openScripted(({ path }) =>
      path === '/api/show' ? embedding() : Response.json({ models: [listed] }),
    );
    const [model] = await createModelList({ ...scene, absences: createAbsences() }).list(never);
    assert.deepEqual(model?.capabilities, ['embedding']);
  });
});

describe('the capabilities of a model', () => {
  test('are requested once for all concurrent callers', async () => {
    const scene = open(embedding);
    const all = await Promise.all([scene.ask(), scene.ask(), scene.ask()]);
    assert.deepEqual(all, [['embedding'], ['embedding'], ['embedding']]);
    assert.equal(scene.sent.length, 1);
  });

  test.each([
    ['where the models have no digest', ''],
    ['where a model was pulled again under one of the two names of its digest', 'one'],
  ])('are those of its name, %s', async (_, digest) => {
    const scene = open(({ body }) =>
      Response.json({
        capabilities: [body['model'] === 'embed:latest' ? 'embedding' : 'completion'],
      }),
    );
    assert.deepEqual(await scene.ask({ ...embedder, digest }), ['embedding']);
    const chat = { ...embedder, name: 'chat:latest', digest };
    assert.deepEqual(await scene.ask(chat), ['completion']);
    assert.deepEqual(await scene.ask({ ...embedder, digest }), ['embedding']);
    assert.equal(scene.sent.length, 2);
  });

  test.each([
    ['an error', () => Response.json({ error: 'no such route' }, { status: 404 })],
    ['an answer without them', () => Response.json({ details: {} })],
  ])('stay unknown after %s, and are requested again after 30 s', async (_, answer) => {
    let answers = 0;
    const scene = open(() => (++answers === 1 ? answer() : embedding()));
    assert.equal(await scene.ask(), undefined);
    scene.clock.advance(29_999);
    assert.equal(await scene.ask(), undefined);
    scene.clock.advance(1);
    assert.deepEqual(await scene.ask(), ['embedding']);
    assert.equal(scene.sent.length, 2);
  });

  test('stay unknown if Ollama does not answer within 2 s', async () => {
    const asked = Promise.withResolvers<void>();
    const scene = open((_sent, signal) => {
      asked.resolve();
      return hang(signal);
    });
    const asking = scene.ask();
    await asked.promise;
    scene.clock.advance(2_000);
    assert.equal(await asking, undefined);
  });

  test('are aborted with the caller', async () => {
    const scene = open((_sent, signal) => hang(signal));
    const controller = new AbortController();
    const asking = scene.ask(embedder, controller.signal);
    controller.abort();
    await assert.rejects(asking, { name: 'AbortError' });
    await using ollama = await startOllama({ listsCapabilities: false });
    await using models = openStill(ollama.url);
    assert.equal(await kindOf(models.models.find('x', controller.signal)), 'cancelled');
  });

  test('are cached for a bounded number of models', async () => {
    const scene = open(embedding);
    for (let number = 0; number <= 1_000; number++)
      await scene.ask({ ...embedder, digest: String(number) });
    assert.equal(scene.sent.length, 1_001);
    await scene.ask({ ...embedder, digest: '1000' });
    assert.equal(scene.sent.length, 1_001);
    await scene.ask({ ...embedder, digest: '0' });
    assert.equal(scene.sent.length, 1_002);
  });
});
