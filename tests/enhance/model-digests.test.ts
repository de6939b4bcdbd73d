import assert from 'node:assert/strict';
import { test } from 'vitest';
import { createManualClock } from '#helpers/clock';
import { type ModelInfo, ModelFailure } from '#models';
import { createModelDigests } from '../../hub/enhance/model-digests.ts';
import { never } from './enhancer-scene.ts';

/** Creates an Ollama whose answers about models the test controls. By default it never answers. */
function scene() {
  const clock = createManualClock();
  let find: () => Promise<ModelInfo | undefined> = () => new Promise(() => {});
  let asked = 0;
  const digests = createModelDigests({
    clock,
    models: {
      find: () => {
        asked++;
        return find();
      },
    },
  });
  return {
    clock,
    digests,
    asked: () => asked,
    has: (digest: string | undefined) => {
      const model = { name: 'm', sizeBytes: 1, isLoaded: false, capabilities: undefined };
      find = async () => (digest === undefined ? undefined : { ...model, digest });
    },
    fails: () => {
      find = () => Promise.reject(new ModelFailure('unreachable', 'away'));
    },
    hangs: () => {
      find = () => new Promise(() => {});
    },
  };
}

test('the last digest of a model is used while Ollama fails, and looked up again after a while', async () => {
  const { clock, digests, asked, has, fails } = scene();
  has('one');
  assert.equal(await digests.find('m', 1_000, never), 'one');
  fails();
  for (const _ of [1, 2, 3]) assert.equal(await digests.find('m', 1_000, never), 'one');
  assert.equal(asked(), 2);
  has('two');
  clock.advance(5_000);
  assert.equal(await digests.find('m', 1_000, never), 'two');
});

test('a look-up of a known digest has a shorter limit than that of an unknown one', async () => {
  const { clock, digests, has, hangs } = scene();
  hangs();
  const unknown = digests.find('m', 1_000, never);
  clock.advance(999);
  assert.equal(clock.waiting, 1);
  clock.advance(1);
  assert.equal(await unknown, undefined);
  clock.advance(5_000);
  has('one');
  await digests.find('m', 1_000, never);
  hangs();
  const known = digests.find('m', 1_000, never);
  clock.advance(250);
  assert.equal(await known, 'one');
});

test('a removed model, and an Ollama without digests, give no digest', async () => {
  const { digests, has } = scene();
  has('one');
  await digests.find('m', 1_000, never);
  has(undefined);
  assert.equal(await digests.find('m', 1_000, never), undefined);
  has('');
  assert.equal(await digests.find('m', 1_000, never), undefined);
});

test('a look-up that is aborted rejects at once', async () => {
  const { digests, hangs } = scene();
  hangs();
  const leaving = new AbortController();
  const found = digests.find('m', 1_000, leaving.signal);
  leaving.abort(new Error('gone'));
  await assert.rejects(found, /gone/);
});
