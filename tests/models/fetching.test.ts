import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { silent } from '#core';
import { createRecordingLog, until } from '#helpers/hub';
import { createFetching } from '#models';
import { type OllamaDouble, startOllama } from '../doubles/ollama.ts';
import { never, openStill } from './scene.ts';

/** Opens a fetcher over an Ollama double with a manual clock, until disposed. */
async function openFetching(ollama: OllamaDouble, first: readonly string[], log = silent) {
  const scene = openStill(ollama.url);
  let wanted = first;
  const fetching = createFetching(() => wanted, { models: scene.models, clock: scene.clock, log });
  await scene.models.start(never);
  await fetching.start(never);
  return {
    ...scene,
    fetching,
    /** Advances the clock until the condition holds. */
    async settled(isSo: () => boolean) {
      await until(() => {
        scene.clock.advance(100);
        return isSo();
      });
    },
    want(models: readonly string[]) {
      wanted = models;
      fetching.recheck();
    },
    async [Symbol.asyncDispose]() {
      await fetching.stop();
      await scene[Symbol.asyncDispose]();
    },
  };
}

const pulled = (ollama: OllamaDouble) =>
  ollama.received('/api/pull').map(({ body }) => String(body['model'] ?? body['name']));

describe('required models', () => {
  test('are pulled if they are missing, one after the other and in order, and the status says so', async () => {
    await using ollama = await startOllama({ models: ['there:1'], pullable: ['one:1', 'two:1'] });
    const { log, logged } = createRecordingLog();
    const held = Promise.withResolvers<void>();
    ollama.fails(
      '/api/pull',
      { kind: 'paced', before: async line => void (line === 3 && (await held.promise)) },
      1,
    );
    await using scene = await openFetching(ollama, ['one:1', 'there:1', 'two:1', 'one:1'], log);
    const { fetching } = scene;
    await scene.settled(() => fetching.status.now?.completedBytes === 1_009_696_594);
    assert.equal(fetching.status.now?.model, 'one:1');
    assert.deepEqual(fetching.status.missing, ['one:1', 'there:1', 'two:1']);
    assert.deepEqual(pulled(ollama), ['one:1']);
    scene.clock.advance(10_000);
    held.resolve();
    await scene.settled(() => fetching.status.missing.length === 0);
    assert.deepEqual(pulled(ollama), ['one:1', 'two:1']);
    assert.deepEqual(fetching.status, { missing: [], now: undefined, error: undefined });
    const infos = logged.filter(({ level }) => level === 'info').map(({ message }) => message);
    assert.deepEqual(infos, [
      'fetching a model that the rules name',
      'a model is being fetched',
      'a model was fetched',
      'fetching a model that the rules name',
      'a model was fetched',
    ]);
  });

  test('are checked again when the required models change, and not while none are required', async () => {
    await using ollama = await startOllama({ models: ['one:1'], pullable: ['one:1', 'two:1'] });
    await using scene = await openFetching(ollama, ['one:1']);
    await scene.settled(() => scene.fetching.status.missing.length === 0);
    ollama.remove('one:1');
    scene.clock.advance(3_600_000);
    assert.deepEqual(pulled(ollama), []);
    scene.want(['two:1']);
    await scene.settled(() => scene.fetching.status.missing.length === 0);
    assert.deepEqual(pulled(ollama), ['two:1']);
  });

  test('wait for an Ollama that is down, without requests to it', async () => {
    await using ollama = await startOllama({ models: [], pullable: ['one:1'] });
    await ollama.stop();
    await using scene = await openFetching(ollama, ['one:1']);
    await until(() => scene.models.status.kind === 'down');
    for (let seconds = 0; seconds < 20; seconds++) scene.clock.advance(1_000);
    assert.equal(scene.breaker.snapshot().failures, 0);
    assert.deepEqual(scene.fetching.status.missing, ['one:1']);
    await ollama.start();
    await scene.settled(() => scene.fetching.status.missing.length === 0);
    assert.deepEqual(pulled(ollama), ['one:1']);
  });

  test('are retried after a failure, but not if no registry has them', async () => {
    await using ollama = await startOllama({ models: [], pullable: ['one:1', 'two:1'] });
    ollama.fails('/api/pull', { kind: 'reset', afterLines: 2 }, 1);
    const { log, logged } = createRecordingLog();
    await using scene = await openFetching(ollama, ['one:1', 'nowhere:1', 'two:1'], log);
    await scene.settled(() => scene.fetching.status.missing.length === 1);
    assert.deepEqual(pulled(ollama), ['one:1', 'nowhere:1', 'two:1']);
    await scene.settled(() => scene.fetching.status.missing.length === 0);
    const warned = logged.filter(({ level }) => level === 'warn').map(({ message }) => message);
    assert.deepEqual(warned, [
      'a model could not be fetched and will be retried',
      'no registry has a model that the rules name: correct its name there',
    ]);
    assert.equal(pulled(ollama).filter(model => model === 'nowhere:1').length, 1);
    assert.match(scene.models.absence('nowhere:1').remedy, /No registry has it/);
  });

  test('are updated during a pull: the pull of a model that is no longer required ends', async () => {
    await using ollama = await startOllama({ models: [], pullable: ['huge:1', 'small:1'] });
    ollama.fails('/api/pull', { kind: 'hang_mid_stream', afterLines: 2 }, 1);
    await using scene = await openFetching(ollama, ['huge:1']);
    const { fetching, models } = scene;
    await scene.settled(() => fetching.status.now !== undefined);
    scene.want(['huge:1', 'small:1']);
    assert.equal(models.absence('small:1').remedy, 'The hub will pull it');
    assert.equal(fetching.status.now?.model, 'huge:1');
    scene.want(['small:1']);
    await scene.settled(() => fetching.status.missing.length === 0);
    assert.deepEqual(pulled(ollama), ['huge:1', 'small:1']);
    await until(() => ollama.received('/api/pull')[0]?.isAbandoned === true);
    assert.deepEqual(fetching.status, { missing: [], now: undefined, error: undefined });
  });

  test('have no error of a model that is no longer required', async () => {
    await using ollama = await startOllama({ models: [], pullable: ['huge:1'] });
    ollama.fails('/api/pull', { kind: 'hang_mid_stream', afterLines: 2 });
    await using scene = await openFetching(ollama, ['nowhere:1']);
    const { fetching } = scene;
    await scene.settled(() => fetching.status.error !== undefined);
    scene.want(['huge:1']);
    await scene.settled(() => fetching.status.now?.model === 'huge:1');
    assert.equal(fetching.status.error, undefined);
  });

  test('are abandoned when the hub stops', async () => {
    await using ollama = await startOllama({ models: [], pullable: ['one:1'] });
    ollama.fails('/api/pull', { kind: 'hang_mid_stream', afterLines: 2 });
    const scene = await openFetching(ollama, ['one:1']);
    await scene.settled(() => scene.fetching.status.now !== undefined);
    await scene[Symbol.asyncDispose]();
    await until(() => ollama.received('/api/pull')[0]?.isAbandoned === true);
    assert.equal(pulled(ollama).length, 1);
  });

  test('are abandoned at once, even after one of them has failed', async () => {
    await using ollama = await startOllama({ models: [], pullable: ['one:1', 'two:1'] });
    ollama.fails('/api/pull', { kind: 'reset', afterLines: 2 }, 1);
    ollama.fails('/api/pull', { kind: 'hang_mid_stream', afterLines: 2 });
    const scene = await openFetching(ollama, ['one:1', 'two:1']);
    await scene.settled(() => scene.fetching.status.now?.model === 'two:1');
    // The clock stands still: the stop must not wait for the next attempt.
    await scene[Symbol.asyncDispose]();
    assert.equal(pulled(ollama).length, 2);
  });
});
