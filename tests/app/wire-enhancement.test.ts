import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test } from 'vitest';
import { openRules, readSettings } from '#config';
import { systemClock as clock, silent as log } from '#core';
import { never } from '#helpers/never';
import { freePort } from '#helpers/port';
import { createModelAccess } from '../../hub/app/wire-models.ts';
import { startEnhancement } from '../../hub/app/wire-enhancement.ts';
import { temporary } from '../config/editing.ts';
import { startQdrant } from '../doubles/qdrant.ts';

const nothingEmbedded = { default: { cache: { mode: 'off' } } };

/** Opens the enhancer of a hub with these rules and settings, and a data folder of its own. */
async function open(rules: object, environment: Readonly<Record<string, string>> = {}, data = '') {
  const stack = new AsyncDisposableStack();
  const folder = stack.use(await temporary());
  const file = join(folder.path, 'rules.json');
  const write = (content: object) => writeFile(file, JSON.stringify(content));
  await write(rules);
  const source = await openRules({ file, isRequired: true }, { clock, log });
  const dataFolder = join(folder.path, data);
  const settings = readSettings(environment);
  const models = createModelAccess(settings, {
    clock,
    log,
    newId: () => 'id',
    config: () => ({}),
    rules: () => source.current,
  });
  stack.defer(() => models.stop());
  const enhancement = await startEnhancement(
    { settings, dataFolder },
    { rules: source, opened: await models.open(), clock, log, random: () => 0 },
  );
  let stopping: Promise<void> | undefined;
  const stop = () => (stopping ??= enhancement[Symbol.asyncDispose]());
  stack.defer(stop);
  return {
    ...enhancement,
    vectorsFile: join(dataFolder, 'semantic.sqlite'),
    async follow(content: object) {
      await write(content);
      assert.equal(await source.reload(), undefined);
    },
    stop,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test('a hub without Ollama returns prompts unchanged with the setting to add, and fetches no models', async () => {
  await using hub = await open({});
  const { prompt, reason } = await hub.enhancer.enhance({ prompt: 'p', client: undefined }, never);
  assert.deepEqual([prompt, reason], ['p', 'there is no Ollama: set OLLAMA_HOST']);
  assert.ok(!('fetching' in hub));
});

test('models are fetched in the background only if the settings say so', async () => {
  await using hub = await open(
    {},
    { OLLAMA_HOST: `http://127.0.0.1:${await freePort()}`, OLLAMA_PULL: 'true' },
  );
  assert.ok(hub.fetching?.status.missing.includes('nomic-embed-text:latest'));
});

describe('the semantic cache', () => {
  test('is kept in the data folder', async () => {
    await using hub = await open({});
    assert.ok(existsSync(hub.vectorsFile));
    const { semantic } = await hub.enhancer.stats();
    assert.deepEqual([semantic?.vectors.backend, semantic?.vectors.status], ['embedded', 'up']);
  });

  test('is not opened before a rule uses it', async () => {
    await using hub = await open(nothingEmbedded);
    assert.equal((await hub.enhancer.stats()).semantic, undefined);
    assert.ok(!existsSync(hub.vectorsFile));
    await hub.follow({});
    assert.equal((await hub.enhancer.stats()).semantic?.vectors.status, 'up');
    assert.ok(existsSync(hub.vectorsFile));
  });

  test('that cannot open its file does not keep the hub from starting', async () => {
    await using hub = await open({}, {}, 'rules.json');
    const { semantic } = await hub.enhancer.stats();
    assert.equal(semantic?.vectors.status, 'down');
  });

  test('is in Qdrant if QDRANT_URL is set, and sends its key', async () => {
    await using qdrant = await startQdrant({ apiKey: 'a-key' });
    for (const [key, status] of [
      ['a-key', 'up'],
      ['another', 'down'],
    ] as const) {
      await using hub = await open({}, { QDRANT_URL: qdrant.url, QDRANT_API_KEY: key });
      const { semantic } = await hub.enhancer.stats();
      assert.deepEqual([semantic?.vectors.backend, semantic?.vectors.status], ['qdrant', status]);
      assert.ok(!existsSync(hub.vectorsFile));
    }
  });

  test('is in the collection of its DEPLOYMENT_NAME in Qdrant', async () => {
    await using qdrant = await startQdrant();
    const body = JSON.stringify({ vectors: { size: 2, distance: 'Cosine' } });
    for (const name of ['agenthub-docs', 'staging-docs'])
      await fetch(`${qdrant.url}/collections/${name}`, { method: 'PUT', body });
    await using hub = await open({}, { QDRANT_URL: qdrant.url, DEPLOYMENT_NAME: 'staging' });
    await hub.enhancer.stats();
    assert.deepEqual(
      qdrant.calls.filter(call => call.startsWith('GET /collections/')),
      ['GET /collections/staging-docs'],
    );
  });

  test('is not opened once the hub stops', async () => {
    await using hub = await open(nothingEmbedded);
    await hub.stop();
    await hub.follow({});
    await assert.rejects(hub.enhancer.stats(), { name: 'AbortError' });
    assert.ok(!existsSync(hub.vectorsFile));
  });

  test('does not keep the hub from stopping in order if it is first used meanwhile', async () => {
    // A Redis that never answers: with `allowHalfOpen`, the connection stays open until the hub closes it.
    const redis = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
    await using _redis = { [Symbol.asyncDispose]: async () => void redis.close() };
    await once(redis, 'listening');
    const address = redis.address();
    assert.ok(typeof address === 'object' && address);
    await using hub = await open(nothingEmbedded, {
      REDIS_URL: `redis://127.0.0.1:${address.port}`,
    });
    await hub.follow({});
    const stopping = hub.stop();
    await assert.rejects(hub.enhancer.stats(), { name: 'AbortError' });
    await stopping;
    assert.ok(!existsSync(hub.vectorsFile));
  });
});

describe('the exact cache', () => {
  test('is in the memory of the hub, within the bounds of the settings', async () => {
    await using hub = await open(nothingEmbedded, { CACHE_MAX_SIZE: '7' });
    const { exact } = await hub.enhancer.stats();
    assert.deepEqual([exact.backend, exact.maxEntries], ['memory', 7]);
  });

  test('is in Redis if REDIS_URL is set, also while Redis is unreachable', async () => {
    const url = `redis://127.0.0.1:${await freePort()}`;
    await using hub = await open(nothingEmbedded, { REDIS_URL: url, CACHE_MAX_SIZE: '7' });
    const { exact } = await hub.enhancer.stats();
    assert.deepEqual([exact.backend, exact.status.kind, exact.maxEntries], ['redis', 'down', 7]);
  });
});
