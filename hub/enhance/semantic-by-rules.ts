import type { SemanticCache } from './semantic.ts';

/** The models that a semantic cache works with. */
export type SemanticModels = {
  readonly embeddingModel: string;
  /** Undefined: there is no judge. */
  readonly judgeModel: string | undefined;
};

/**
 * A semantic cache of the models that the rules of the moment name. With others it is another one, which counts
 * anew and finds only what was kept with its embedding model. Construction makes none.
 */
export function createSemanticByRules(
  wanted: () => SemanticModels,
  make: (models: SemanticModels) => SemanticCache,
): SemanticCache {
  let made: (SemanticModels & { readonly cache: SemanticCache }) | undefined;

  function current(): SemanticCache {
    const { embeddingModel, judgeModel } = wanted();
    if (made?.embeddingModel === embeddingModel && made.judgeModel === judgeModel)
      return made.cache;
    made?.cache.stop();
    made = { embeddingModel, judgeModel, cache: make({ embeddingModel, judgeModel }) };
    return made.cache;
  }

  return {
    find: (prompt, lookup, signal) => current().find(prompt, lookup, signal),
    store: (entry, bounds, signal) => current().store(entry, bounds, signal),
    explain: (prompt, lookup, signal) => current().explain(prompt, lookup, signal),
    forget: tag => current().forget(tag),
    stats: () => current().stats(),
    stop: () => made?.cache.stop(),
  };
}
