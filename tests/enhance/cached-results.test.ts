import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { createMemoryCache } from '#cache';
import { systemClock } from '#core';
import { until } from '#helpers/hub';
import { busy } from '../doubles/ollama.ts';
import { openScene, roomy } from './enhancer-scene.ts';

describe('a result of a request that bypasses the caches', () => {
  test.each(['off', 'verified'] as const)(
    'replaces the cached result, in mode %s',
    async cacheMode => {
      await using scene = await openScene({ rule: { cacheMode } });
      await scene.enhance('Name the largest file');
      for (const prompt of ['Name the largest file', 'Count all lines']) {
        scene.ollama.says(`A new result for: ${prompt}`);
        const done = await scene.enhance(prompt, { bypass: true });
        assert.deepEqual([done.source, done.cache], ['model', 'bypass']);
        assert.match(done.reason ?? '', /X-Cache-Bypass/);
        const next = await scene.enhance(prompt);
        assert.deepEqual([next.source, next.prompt], ['l1', `A new result for: ${prompt}`]);
      }
      assert.equal((await scene.exact.stats()).misses, 1);
    },
  );

  test('does not replace the cached result if no model of the rule made one', async () => {
    await using scene = await openScene({ fallbackChain: ['phi3:mini'] });
    const { prompt } = await scene.enhance('one');
    scene.ollama.says(({ model }) => (model === 'phi3:mini' ? 'of the chain' : ''));
    const other = await scene.enhance('one', { bypass: true });
    assert.deepEqual([other.source, other.prompt], ['fallback', 'of the chain']);
    scene.ollama.fails('/api/chat', busy);
    assert.equal((await scene.enhance('one', { bypass: true })).source, 'unchanged');
    const next = await scene.enhance('one');
    assert.deepEqual([next.source, next.prompt], ['l1', prompt]);
  });

  test('is not kept for a prompt with a secret, or if results were forgotten meanwhile', async () => {
    await using scene = await openScene();
    await scene.enhance('password=hunter2-correct-horse', { bypass: true });
    assert.equal(scene.asked().length, 1);
    assert.equal((await scene.exact.stats()).entries, 0);
    const held = Promise.withResolvers<void>();
    scene.ollama.fails('/api/chat', { kind: 'slow', until: held.promise }, 1);
    const before = scene.asked().length;
    const asked = scene.enhance('one', { bypass: true });
    await until(() => scene.asked().length > before);
    await scene.enhancer.forget();
    held.resolve();
    assert.equal((await asked).source, 'model');
    assert.equal((await scene.exact.stats()).entries, 0);
  });

  test('is returned even if the cache does not answer', async () => {
    const memory = createMemoryCache(roomy, { clock: systemClock });
    const asked: AbortSignal[] = [];
    await using scene = await openScene({
      exact: {
        ...memory,
        getOrFill(_key, _options, _fill, signal) {
          asked.push(signal);
          return new Promise(() => {});
        },
      },
    });
    const done = await scene.enhance('one', { bypass: true });
    assert.equal(done.source, 'model');
    assert.ok(done.tookMs >= 240 && done.tookMs < 2_000, `${done.tookMs} ms`);
    assert.deepEqual(
      asked.map(({ aborted }) => aborted),
      [true],
    );
  });
});
