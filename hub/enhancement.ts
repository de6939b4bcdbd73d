import { join } from 'node:path';
import { createMemoryCache, loadRedisCache } from '#cache';
import type { RulesSource, Settings } from '#config';
import { type Clock, type Log, startAll } from '#core';
import { createEnhancer, createJudge, createSemanticCache } from '#enhance';
import type { Prompts } from '#http';
import { createModels } from '#models';
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

/** Bytes of results that are kept; a result is a page. */
const maxCacheBytes = 32 * 1024 ** 2;
/** A trial may have to load a model first. */
const trialMs = 60_000;

/** Joins models and caches to an enhancer, and starts them. What is away is no reason to reject. */
export async function startEnhancement(
  { settings, dataFolder }: EnhancementOptions,
  { rules, clock, log, random, newId }: EnhancementNeeds,
): Promise<Enhancement> {
  const { ollama, cache, redisUrl, qdrantUrl } = settings;
  const breaker = createBreaker({ ...settings.breaker, trialMs }, clock);
  // Node loads its fetch when it is first named.
  const models = createModels(
    { url: ollama.url },
    { clock, log, fetch: (...request) => fetch(...request), breaker },
  );
  const bounds = { maxEntries: cache.maxEntries, maxBytes: maxCacheBytes };
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
      : createQdrantVectors({ url: qdrantUrl }, { clock, log });
  const { embeddingModel, judgeModel } = rules.current;
  const judge =
    judgeModel === undefined ? undefined : createJudge({ model: judgeModel }, { models, clock });
  const semantic = createSemanticCache({ embeddingModel }, { models, vectors, judge, clock, log });
  const enhancer = createEnhancer(
    {
      rules: () => rules.current,
      model: ollama.model,
      threshold: cache.similarityThreshold,
    },
    { models, exact, semantic, clock, log },
  );
  const parts = [models, exact, vectors, enhancer];
  const started = await startAll(parts, new AbortController().signal);
  return {
    enhancer,
    models,
    async [Symbol.asyncDispose]() {
      await started[Symbol.asyncDispose]();
      breaker[Symbol.dispose]();
    },
  };
}
