import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { describe, test } from 'vitest';
import { cacheKey, createMemoryCache } from '#cache';
import { systemClock } from '#core';
import { createRuleBook, keysOf } from '../../hub/enhance/rules.ts';
import { modelNamed } from '../doubles/ollama.ts';
import { type RulesChanges, quick, rulesOf } from './rules-of.ts';
import { openScene, roomy } from './enhancer-scene.ts';

const prompt = 'rename the file config.yaml to settings.yaml';
/** Prompt with the same canonical form as `prompt`. */
const polite = 'Please rename the file config.yaml to settings.yaml, thanks';
const otherWay = 'rename the file settings.yaml to config.yaml';
const off = { rule: { cacheMode: 'off' } } as const;

function canonicalKey(text: string, changes: RulesChanges = off, client?: string) {
  const chosen = createRuleBook(() => rulesOf(changes), 'm').choose(client);
  return keysOf(chosen, 'digest', text).key;
}

/** pairs.test.ts tests which pairs of prompts share a canonical key. */
describe('the canonical key', () => {
  test('differs between clients and system prompts', () => {
    const keys = [
      canonicalKey(prompt),
      canonicalKey(prompt, off, 'editor'),
      canonicalKey(prompt, { rule: { ...off.rule, systemPrompt: 'Otherwise.' } }),
    ];
    assert.equal(new Set(keys).size, 3);
  });

  test('is used in all modes but `shadow`', () => {
    for (const cacheMode of ['off', 'guarded', 'verified', 'threshold', 'shadow'] as const) {
      const [one, other] = [prompt, polite].map(text =>
        canonicalKey(text, { rule: { cacheMode } }),
      );
      assert.equal(one === other, cacheMode !== 'shadow', cacheMode);
    }
  });

  test('is that of the prompt as written if it is too long or has no canonical form', () => {
    for (const [a, b] of [
      ['x '.repeat(5_000), 'x  '.repeat(5_000)],
      ['...', '…'],
    ] as const)
      assert.notEqual(canonicalKey(a), canonicalKey(b));
  });
});

test('a model is tried once, however the fallback chain spells it', () => {
  const rules = rulesOf({ fallbackChain: ['library/llama3.2:3B', 'm', 'm:latest', 'm:1b'] });
  const { models } = createRuleBook(() => rules, 'any').choose();
  assert.deepEqual(models, ['llama3.2:3b', 'm', 'm:1b']);
});

describe('without embeddings, a prompt', () => {
  test('finds the result of one with an equal canonical form, and no other', async () => {
    await using scene = await openScene(off);
    const first = await scene.enhance(prompt);
    const found = await scene.enhance(polite);
    assert.deepEqual([found.prompt, found.source, found.cache], [first.prompt, 'l1', 'hit_l1']);
    assert.equal((await scene.enhance(`${polite}!`)).source, 'l1');
    assert.equal((await scene.enhance(otherWay)).source, 'model');
    assert.deepEqual(scene.ollama.received('/api/embed'), []);
    assert.equal(scene.asked().length, 2);
  });

  test('has one entry for all its forms, which statistics, explanations and forget count as one', async () => {
    await using scene = await openScene(off);
    for (const text of [prompt, polite, `${polite}!`]) await scene.enhance(text);
    const { exact, prompts } = await scene.enhancer.stats();
    assert.deepEqual([exact.entries, exact.hits, exact.misses, prompts.sources.l1], [1, 2, 1, 2]);
    const explained = await scene.enhancer.explain(polite, undefined, AbortSignal.timeout(5_000));
    assert.ok(explained.exact.ageMs !== undefined);
    assert.deepEqual(await scene.enhancer.forget(), { exact: 1, semantic: 0 });
    assert.equal((await scene.enhance(polite)).source, 'model');
  });

  test("finds its result from before a change of the rule's mode", async () => {
    await using scene = await openScene();
    await scene.enhance(prompt);
    scene.follow(off);
    assert.equal((await scene.enhance(polite)).source, 'l1');
  });
});

test('results from before the introduction of the frame and its checks are not found in either cache', async () => {
  const { model, systemPrompt } = quick;
  const options = Object.entries(rulesOf().default.options).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  const oldHash = hash('sha256', JSON.stringify([model, systemPrompt, options]));
  const { digest } = modelNamed(model);
  const oldScope = ['default', 'default', oldHash, model, digest];
  const exact = createMemoryCache(roomy, { clock: systemClock });
  const value = { kind: 'made', prompt: 'Canberra.', model, digest, isOwn: true, attempts: [] };
  const keeping = { tag: 'default', ttlMs: 60_000, isReadable: () => true };
  await exact.getOrFill(
    cacheKey(['prompt', ...oldScope, prompt]),
    keeping,
    async () => ({ value: JSON.stringify(value), isKept: true }),
    AbortSignal.timeout(5_000),
  );
  await using scene = await openScene({ exact });
  assert.equal((await scene.enhance(prompt)).source, 'model');
  const { scope } = keysOf(createRuleBook(() => rulesOf(), 'm').choose(), digest, prompt);
  assert.notEqual(scope, cacheKey(['scope', ...oldScope]));
});
