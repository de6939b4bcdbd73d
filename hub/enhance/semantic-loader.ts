import type { EnhancementRules } from '#config';
import type { SemanticCache } from './semantic.ts';

/** Without a `judgeModel` there is no judge. */
export type SemanticModels = Pick<EnhancementRules, 'embeddingModel' | 'judgeModel'>;

/** A semantic cache that may not be loaded. */
export type SemanticSource = Omit<SemanticCache, 'stats'> & {
  /** Undefined if the cache is not loaded. */
  stats(): Promise<Awaited<ReturnType<SemanticCache['stats']>> | undefined>;
};

/**
 * Loads a semantic cache with its first use: by a rule with another mode than `off`, or to explain or to forget
 * entries. If the rules name other models, creates another cache, with new counts and only the entries of its own
 * embedding model.
 */
export function createSemanticLoader(
  rules: () => EnhancementRules,
  load: (models: SemanticModels) => Promise<SemanticCache>,
): SemanticSource & { load(): Promise<void> } {
  let loaded: (SemanticModels & { readonly cache: Promise<SemanticCache> }) | undefined;

  const stop = () =>
    void loaded?.cache.then(
      cache => cache.stop(),
      () => undefined, // A cache that failed to load runs nothing.
    );

  function current(): Promise<SemanticCache> {
    const { embeddingModel, judgeModel } = rules();
    if (loaded?.embeddingModel === embeddingModel && loaded.judgeModel === judgeModel)
      return loaded.cache;
    stop();
    loaded = { embeddingModel, judgeModel, cache: load({ embeddingModel, judgeModel }) };
    return loaded.cache;
  }

  const isUsed = () =>
    [rules().default, ...rules().clients.values()].some(
      ({ enabled, cacheMode }) => enabled && cacheMode !== 'off',
    );

  return {
    /** Loads the cache at once if a rule uses it, so that the first prompt does not wait. */
    async load() {
      if (isUsed()) await current();
    },
    find: async (prompt, lookup, signal) => (await current()).find(prompt, lookup, signal),
    store: async (entry, bounds, signal) => (await current()).store(entry, bounds, signal),
    explain: async (prompt, lookup, signal) => (await current()).explain(prompt, lookup, signal),
    forget: async tag => (await current()).forget(tag),
    stats: async () => (loaded || isUsed() ? (await current()).stats() : undefined),
    stop,
  };
}

/** Loads the code of the semantic cache and of the judge. */
export async function loadSemanticCache() {
  const [{ createSemanticCache }, { createJudge }] = await Promise.all([
    import('./semantic.ts'),
    import('./judge.ts'),
  ]);
  return { createSemanticCache, createJudge };
}
