import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { openScene } from './enhancer-scene.ts';

const prompt = 'make it good';

describe('a recent prompt', () => {
  test('has its result without a promise, and counts as any other hit', async () => {
    await using scene = await openScene();
    assert.equal(scene.enhancer.atHand({ prompt }), undefined);
    const first = await scene.enhance(prompt);
    const ready = scene.enhancer.atHand({ prompt });
    assert.ok(ready);
    assert.ok(!(ready instanceof Promise), 'in memory nobody has to be asked');
    const { ageMs, tookMs, ...rest } = ready;
    assert.ok(Number(ageMs) >= 0 && tookMs >= 0);
    assert.deepEqual(rest, {
      prompt: first.prompt,
      enhanced: true,
      source: 'l1',
      cache: 'hit_l1',
      model: 'llama3.2:3b',
      attempts: [],
      client: 'default',
      rule: 'default',
    });
    const { prompts, exact } = await scene.enhancer.stats();
    assert.deepEqual([prompts.requests, prompts.sources.l1, prompts.running], [2, 1, 0]);
    assert.equal(exact.hits, 1);
  });

  test('has no such result for another client, with a bypass, or after the rules changed', async () => {
    await using scene = await openScene();
    await scene.enhance(prompt);
    assert.equal(scene.enhancer.atHand({ prompt, client: 'other' }), undefined);
    assert.equal(scene.enhancer.atHand({ prompt, bypass: true }), undefined);
    scene.follow({ rule: { systemPrompt: 'Otherwise.' } });
    assert.equal(scene.enhancer.atHand({ prompt }), undefined);
    scene.follow({ rule: { enabled: false } });
    assert.equal((await scene.enhance(prompt)).source, 'disabled');
  });

  test('has no such result once it is forgotten, or its model has changed', async () => {
    await using scene = await openScene({ ollama: { pullable: ['llama3.2:3b'] } });
    await scene.enhance(prompt);
    await scene.enhancer.forget('default');
    assert.equal(scene.enhancer.atHand({ prompt }), undefined);
    await scene.enhance(prompt);
    assert.ok(scene.enhancer.atHand({ prompt }));
    scene.ollama.remove('llama3.2:3b');
    // After a pull, the hub reads Ollama's list of models again.
    await scene.models.pull('llama3.2:3b', () => {}, AbortSignal.timeout(5_000));
    assert.equal(scene.enhancer.atHand({ prompt }), undefined);
  });

  test('that contains a secret never has such a result', async () => {
    await using scene = await openScene();
    const secret = 'rename the file with password=hunter2-correct-horse in it';
    for (const _ of [1, 2]) assert.equal((await scene.enhance(secret)).cache, 'bypass');
    assert.equal(scene.enhancer.atHand({ prompt: secret }), undefined);
  });

  test('is one of 500: a prompt beyond them is looked up in the cache again', async () => {
    await using scene = await openScene();
    for (let index = 0; index <= 500; index++) await scene.enhance(`${prompt} ${index}`);
    assert.equal(scene.enhancer.atHand({ prompt: `${prompt} 0` }), undefined);
    assert.equal((await scene.enhance(`${prompt} 0`)).source, 'l1');
    assert.ok(scene.enhancer.atHand({ prompt: `${prompt} 0` }));
  });
});
