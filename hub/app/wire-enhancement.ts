import { join } from 'node:path';
import { createMemoryCache, loadRedisCache } from '#cache';
import { type RulesSource, type Settings, modelsOf } from '#config';
import { startAll } from '#core';
import {
  type SemanticModels,
  createEnhancer,
  createSemanticSource,
  loadSemanticCache,
} from '#enhance';
import { createFetching, createMissingModels } from '#models';
import type { Vectors } from '#vectors';
import type { System } from './system.ts';
import type { OpenModels } from './wire-models.ts';

export type EnhancementOptions = {
  readonly settings: Settings;
  /** Absolute path of the folder for the semantic cache. Not used with Qdrant. */
  readonly dataFolder: string;
};

export type EnhancementNeeds = Omit<System, 'newId'> & {
  readonly rules: RulesSource;
  readonly opened: Pick<OpenModels, 'models' | 'contextSizes'>;
};

/** Creates and starts the enhancer with its caches. Does not reject if one of them cannot be reached. */
export async function startEnhancement(
  { settings, dataFolder }: EnhancementOptions,
  { rules, opened: { models, contextSizes }, clock, log, random }: EnhancementNeeds,
) {
  const { ollama, cache, redisUrl, deployment = 'agenthub', qdrantUrl, qdrantKey } = settings;
  const life = new AbortController();
  const { maxEntries, maxBytes } = cache;
  const bounds = { maxEntries, maxBytes };
  const exact =
    redisUrl === undefined
      ? createMemoryCache(bounds, { clock })
      : (await loadRedisCache())(
          { ...bounds, url: redisUrl, prefix: `${deployment}:cache:` },
          { clock, log, random },
        );
  let vectors: Promise<Vectors> | undefined;
  async function openVectors(): Promise<Vectors> {
    life.signal.throwIfAborted();
    const { createEmbeddedVectors, createQdrantVectors } = await import('#vectors');
    const opened =
      qdrantUrl === undefined
        ? createEmbeddedVectors(join(dataFolder, 'semantic.sqlite'), { clock, log })
        : createQdrantVectors(
            { url: qdrantUrl, deployment, ...(qdrantKey !== undefined && { apiKey: qdrantKey }) },
            { clock, log },
          );
    await opened.start(life.signal);
    return opened;
  }
  async function openSemantic({ embeddingModel, judgeModel: model }: SemanticModels) {
    const { createSemanticCache, createJudge } = await loadSemanticCache();
    const { createTable } = await import('#store');
    const tableIn = (name: string, maxEntries: number) =>
      createTable({ file: join(dataFolder, `semantic-${name}.json`), maxEntries }, { log });
    const tables = {
      thresholds: tableIn('thresholds', 20),
      judgements: tableIn('judgements', 2_000),
    };
    const judge =
      model === undefined
        ? undefined
        : createJudge({ model, contextSize: contextSizes.forPrompt }, { models, clock });
    const opened = await (vectors ??= openVectors());
    return createSemanticCache(
      { embeddingModel },
      { models, vectors: opened, judge, tables, clock, log },
    );
  }
  const semantic = createSemanticSource(
    { threshold: cache.similarityThreshold },
    { rules: () => rules.current, load: openSemantic, clock, log },
  );
  const wanted = () => modelsOf(rules.current, ollama.model);
  const missing = createMissingModels(wanted, { models, clock, log });
  const fetching = ollama.isPulling
    ? createFetching(() => wanted().map(({ model }) => model), { models, clock, log })
    : undefined;
  const enhancer = createEnhancer(
    { rules: () => rules.current, model: ollama.model, contextSize: contextSizes.forPrompt },
    { models, exact, semantic, clock, log },
  );
  const parts = [exact, enhancer, fetching, missing].filter(part => part !== undefined);
  const started = await startAll(parts, life.signal);
  await semantic.load();
  const subscription = rules.changed(() => {
    fetching?.recheck();
    void missing.check();
  });
  return {
    enhancer,
    models,
    missing,
    ...(fetching && { fetching }),
    async [Symbol.asyncDispose](): Promise<void> {
      life.abort();
      subscription[Symbol.dispose]();
      await started[Symbol.asyncDispose]();
      await (await vectors?.catch(() => undefined))?.stop(); // A first use after the abort was refused, and opened nothing.
    },
  };
}
