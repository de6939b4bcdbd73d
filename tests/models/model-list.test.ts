import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { until } from '../contracts/recorder.ts';
import { modelNamed, startOllama } from '../doubles/ollama.ts';
import { createPull } from '../../hub/models/pull.ts';
import { kindOf, never, openModels, openStill } from './scene.ts';
import { linesOf, openScripted } from './scripted.ts';

describe('the list of models', () => {
  test('is read once for all concurrent callers, and again after 30 s', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await Promise.all(Array.from({ length: 50 }, () => scene.models.list(never)));
    assert.equal(ollama.received('/api/tags').length, 1);
    scene.clock.advance(29_999);
    await scene.models.find('llama3.2:3b', never);
    assert.equal(ollama.received('/api/tags').length, 1);
    scene.clock.advance(1);
    await scene.models.list(never);
    assert.equal(ollama.received('/api/tags').length, 2);
  });

  test('fails if Ollama was stopped, even if it was read recently', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    await scene.models.list(never);
    await ollama.stop();
    assert.equal(await kindOf(scene.models.list(never)), 'unreachable');
    assert.equal(scene.models.status.kind, 'down');
    await ollama.start();
    assert.equal((await scene.models.list(never)).length, 2);
  });

  test('is read on for other callers when one aborts, and aborted with the last', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const held = Promise.withResolvers<void>();
    ollama.fails('/api/tags', { kind: 'slow', until: held.promise });
    const [first, second] = [new AbortController(), new AbortController()];
    const given = kindOf(scene.models.list(first.signal));
    const waited = scene.models.list(second.signal);
    await until(() => ollama.received('/api/tags').length === 1, 'the request');
    first.abort();
    assert.equal(await given, 'cancelled');
    held.resolve();
    assert.equal((await waited).length, 2);
  });

  test('is read again for a missing model, though not for each call', async () => {
    await using ollama = await startOllama();
    await using scene = openStill(ollama.url);
    assert.equal(await scene.models.find('phi3:mini', never), undefined);
    ollama.add(modelNamed('phi3:mini'));
    assert.equal(await scene.models.find('phi3:mini', never), undefined);
    assert.equal(ollama.received('/api/tags').length, 1);
    scene.clock.advance(2_000);
    assert.equal((await scene.models.find('phi3:mini', never))?.name, 'phi3:mini');
  });

  test('is discarded if a model was pulled while it was read', async () => {
    const held = Promise.withResolvers<Response>();
    let pulled: readonly object[] = [];
    const scene = openScripted(({ path }) => {
      if (path === '/api/pull') return linesOf({ status: 'success' });
      if (path !== '/api/tags') return undefined;
      return pulled.length === 0 ? held.promise : Response.json({ models: pulled });
    });
    const early = scene.modelList.find('phi3:mini', never);
    await until(() => scene.sent.some(({ path }) => path === '/api/tags'), 'the request');
    await createPull(scene)('phi3:mini', () => {}, never);
    pulled = [{ name: 'phi3:mini', digest: 'p', capabilities: ['completion'] }];
    const late = scene.modelList.find('phi3:mini', never);
    held.resolve(Response.json({ models: [] }));
    await early;
    assert.equal((await late)?.name, 'phi3:mini');
    assert.equal((await scene.modelList.find('phi3:mini', never))?.name, 'phi3:mini');
  });

  test('has models under all names that Ollama accepts for them', async () => {
    await using ollama = await startOllama({ models: ['x', 'host:5000/team/y:latest', 'a/b:1'] });
    await using scene = openModels(ollama.url);
    const found = async (name: string) => (await scene.models.find(name, never))?.name;
    assert.equal(await found('x'), 'x:latest');
    assert.equal(await found('X:Latest'), 'x:latest');
    assert.equal(await found('library/x'), 'x:latest');
    assert.equal(await found('registry.ollama.ai/library/x:latest'), 'x:latest');
    assert.equal(await found('a/b:1'), 'a/b:1');
    assert.equal(await found('a/b'), undefined);
    assert.equal(await found('host:5000/team/y'), 'host:5000/team/y:latest');
  });

  test('is complete even if Ollama cannot list loaded models', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    ollama.fails('/api/ps', { kind: 'error', status: 404, error: '404 page not found' });
    const models = await scene.models.list(never);
    assert.deepEqual(
      models.map(({ name, isLoaded, capabilities }) => [name, isLoaded, capabilities]),
      [
        ['llama3.2:3b', false, ['completion', 'tools']],
        ['nomic-embed-text:latest', false, ['embedding']],
      ],
    );
  });
});
