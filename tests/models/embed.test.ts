import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { modelNamed, startOllama } from '../doubles/ollama.ts';
import { failureOf, kindOf, never, openModels } from './scene.ts';
import { embed } from '../../hub/models/embed.ts';
import { openScripted } from './scripted.ts';

describe('an embedding', () => {
  test('is requested with the text, and with truncation off', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    await scene.models.embed('nomic-embed-text', 'clustering: text', never);
    assert.deepEqual(ollama.received('/api/embed')[0]?.body, {
      model: 'nomic-embed-text:latest',
      input: 'clustering: text',
      truncate: false,
      keep_alive: '30m',
    });
  });

  test('with a removed model fails with the remedy from the second time on', async () => {
    await using ollama = await startOllama();
    await using scene = openModels(ollama.url);
    const { models } = scene;
    await models.embed('nomic-embed-text', 'text', never);
    ollama.remove('nomic-embed-text:latest');
    assert.equal(await kindOf(models.embed('nomic-embed-text', 'text', never)), 'missing');
    assert.equal(models.known('nomic-embed-text'), undefined);
    const { message } = await failureOf(models.embed('nomic-embed-text', 'text', never));
    assert.match(message, /^Ollama has no model nomic-embed-text\. Get it with "ollama pull/);
  });

  test('of a text that Ollama truncated nevertheless fails as too long', async () => {
    await using ollama = await startOllama({ models: [] });
    // The double reports the number of tokens that fit, like Ollama 0.12.5.
    ollama.add(modelNamed('embed-small', { contextLength: 300 }));
    await using scene = openModels(ollama.url);
    const fits = await scene.models.embed('embed-small', 'word '.repeat(250), never);
    assert.equal(fits.vector.length, 768);
    assert.equal(
      await kindOf(scene.models.embed('embed-small', 'word '.repeat(300), never)),
      'too_long',
    );
  });
});

const long = 'word '.repeat(103);

function answering(answer: object, running: object = { models: [] }) {
  let isListed = false;
  return openScripted(({ path }) => {
    if (path === '/api/embed') return Response.json(answer);
    // The first request of /api/ps is for the list of models, and gets the default answer.
    if (path !== '/api/ps' || !isListed) return void (isListed ||= path === '/api/ps');
    return Response.json(running);
  });
}

describe('a vector', () => {
  test('has length one, and the digest of its model', async () => {
    const scene = answering({ embeddings: [[3, 0, 4]] });
    const { vector, digest } = await embed('embed', 'text', never, scene);
    assert.deepEqual([...vector], [...Float32Array.of(0.6, 0, 0.8)]);
    assert.equal(digest, 'e');
    assert.equal(scene.modelList.cached('embed')?.isLoaded, true);
  });

  test.for([
    [{}, 'empty'],
    [{ embeddings: [] }, 'empty'],
    [{ embeddings: [[]] }, 'empty'],
    [{ embeddings: ['x'] }, 'empty'],
    [{ embeddings: [[0, 0]] }, 'malformed'],
    [{ embeddings: [[1, 'x']] }, 'malformed'],
    [{ embeddings: [[1e39, 1]] }, 'malformed'],
  ] as const)('with %j is refused: %s', async ([answer, kind]) => {
    assert.equal(await kindOf(embed('embed', 'text', never, answering(answer))), kind);
  });
});

describe('a text that', () => {
  const embeddings = [[1]];
  const ofWindow = (context_length: unknown, name: unknown = 'EMBED') => ({
    models: [
      { name: 'other', context_length: 1 },
      { name, context_length },
    ],
  });

  test.for([
    ['fills the window up to its marks', 298, ofWindow(300), 'too_long'],
    ['leaves a token free', 297, ofWindow(300), undefined],
    ['has no count of tokens', undefined, ofWindow(300), undefined],
    ['fills a window of no known length', 298, ofWindow('300'), undefined],
    ['fills a window of length 0', 298, ofWindow(0), undefined],
    ['is of a model that is not loaded any more', 298, ofWindow(300, 'x'), undefined],
    ['is of a model without a name', 298, ofWindow(300, 1), undefined],
    ['is of an Ollama that lists no models', 298, {}, undefined],
  ] as const)('%s', async ([, tokens, running, kind]) => {
    const scene = answering({ embeddings, prompt_eval_count: tokens }, running);
    const vector = embed('embed', long, never, scene);
    if (kind) assert.equal(await kindOf(vector), kind);
    else assert.equal((await vector).vector.length, 1);
  });

  test('has 513 characters or more is checked for truncation', async () => {
    const scene = answering({ embeddings, prompt_eval_count: 298 }, ofWindow(300));
    await embed('embed', 'x'.repeat(512), never, scene);
    assert.equal(await kindOf(embed('embed', 'x'.repeat(513), never, scene)), 'too_long');
  });
});
