import { join } from 'node:path';
import { createMemoryCache, loadRedisCache } from '#cache';
import { type RulesSource, type Settings, modelsOf } from '#config';
import { type Clock, type Log, startAll } from '#core';
import { createEnhancer, createJudge, createSemanticByRules, createSemanticCache } from '#enhance';
import type { Prompts } from '#http';
import { createFetching, createModels } from '#models';
import { createBreaker } from '#resilience';
import { createEmbeddedVectors, createQdrantVectors } from '#vectors';

export type EnhancementOptions = {
  readonly settings: Settings;
  /** Where the semantic cache is, where there is no Qdrant. Absolute. */
  readonly dataFolder: string;
};

export type EnhancementNeeds = {
  readonly rules: RulesSource;
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly newId: () => string;
};

/** What improves prompts, begun. */
export type Enhancement = AsyncDisposable & Prompts;

/** A trial may have to load a model first. */
const trialMs = 60_000;

/** Joins models and caches to an enhancer, and starts them. What is away is no reason to reject. */
export async function startEnhancement(
  { settings, dataFolder }: EnhancementOptions,
  { rules, clock, log, random, newId }: EnhancementNeeds,
): Promise<Enhancement> {
  const { ollama, cache, redisUrl, qdrantUrl, qdrantKey: apiKey } = settings;
  const breaker = createBreaker({ ...settings.breaker, trialMs }, clock);
  // Node loads its fetch when it is first named.
  const models = createModels(
    { url: ollama.url },
    { clock, log, fetch: (...request) => fetch(...request), breaker },
  );
  const { maxEntries, maxBytes } = cache;
  const bounds = { maxEntries, maxBytes };
  const exact =
    redisUrl === undefined
      ? createMemoryCache(bounds, { clock })
      : (await loadRedisCache())(
          { ...bounds, url: redisUrl, prefix: 'agenthub:cache:' },
          { clock, log, random, newId },
        );
  const vectors =
    qdrantUrl === undefined
      ? createEmbeddedVectors(join(dataFolder, 'semantic.sqlite'), { clock, log })
      : createQdrantVectors(
          { url: qdrantUrl, ...(apiKey !== undefined && { apiKey }) },
          { clock, log },
        );
  const semantic = createSemanticByRules(
    () => rules.current,
    ({ embeddingModel, judgeModel: model }) => {
      const judge = model === undefined ? undefined : createJudge({ model }, { models, clock });
      return createSemanticCache({ embeddingModel }, { models, vectors, judge, clock, log });
    },
  );
  const fetching = ollama.isPulling
    ? createFetching(() => modelsOf(rules.current, ollama.model), { models, clock, log })
    : undefined;
  const enhancer = createEnhancer(
    {
      rules: () => rules.current,
      model: ollama.model,
      threshold: cache.similarityThreshold,
    },
    { models, exact, semantic, clock, log },
  );
  const parts = [models, exact, vectors, enhancer, ...(fetching ? [fetching] : [])];
  const started = await startAll(parts, new AbortController().signal);
  const heard = rules.changed(() => fetching?.recheck());
  return {
    enhancer,
    models,
    ...(fetching && { fetching }),
    async [Symbol.asyncDispose]() {
      heard[Symbol.dispose]();
      await started[Symbol.asyncDispose]();
      breaker[Symbol.dispose]();
    },
  };
}
