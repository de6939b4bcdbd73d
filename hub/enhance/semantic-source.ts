import type { EnhancementRules } from '#config';
import { type Clock, type Log, messageOf, within } from '#core';
import type { CachedResult } from './result.ts';
import type { ChosenRule } from './rules.ts';
import type { Lookup, Nearby, SemanticCache, Threshold } from './semantic.ts';

/** Models of the semantic cache. Without a `judgeModel`, there is no judge. */
export type SemanticModels = Pick<EnhancementRules, 'embeddingModel' | 'judgeModel'>;

/** A prompt with the rule of its client. */
type RuledPrompt = {
  readonly prompt: string;
  readonly chosen: ChosenRule;
  /** Key of everything that the result depends on except the prompt. */
  readonly scope: string;
};

type Needs = {
  readonly rules: () => EnhancementRules;
  readonly load: (models: SemanticModels) => Promise<SemanticCache>;
  readonly clock: Clock;
  readonly log: Log;
};

/** Semantic cache that is loaded on demand. */
export type SemanticSource = ReturnType<typeof createSemanticSource>;

/** Timeout of a look-up in ms. `explainMs`: timeout of an explanation. */
const findMs = 2_000;
const explainMs = 10_000;
/** Maximum number of results that are being stored. Further results are dropped. */
const maxKeeping = 64;

/**
 * Loads a semantic cache on its first use: by a rule with another mode than `off`, or to explain or remove entries. If
 * the rules name other models, loads another cache, with new counts and only the entries of its embedding model.
 * Failures count as misses. `threshold` is CACHE_SIMILARITY_THRESHOLD, for rules without a threshold.
 */
export function createSemanticSource(
  options: { readonly threshold: number | undefined },
  { rules, load, clock, log }: Needs,
) {
  let loaded: (SemanticModels & { readonly cache: Promise<SemanticCache> }) | undefined;
  let stores = new AbortController();
  let isStopped = false;
  let keeping = 0;

  const stopCache = () =>
    void loaded?.cache.then(
      cache => cache.stop(),
      () => undefined, // A cache that failed to load needs no stop.
    );

  function current(): Promise<SemanticCache> {
    const { embeddingModel, judgeModel } = rules();
    if (loaded?.embeddingModel === embeddingModel && loaded.judgeModel === judgeModel)
      return loaded.cache;
    stopCache();
    loaded = { embeddingModel, judgeModel, cache: load({ embeddingModel, judgeModel }) };
    return loaded.cache;
  }

  const isUsed = () =>
    [rules().default, ...rules().clients.values()].some(
      ({ enabled, cacheMode }) => enabled && cacheMode !== 'off',
    );

  function thresholdOf({ threshold }: ChosenRule['rule']): Threshold | undefined {
    if (threshold !== undefined) return { value: threshold, from: 'rule' };
    const { threshold: value } = options;
    return value === undefined ? undefined : { value, from: 'CACHE_SIMILARITY_THRESHOLD' };
  }

  const lookupOf = (rule: ChosenRule['rule'], scope: string): Lookup => ({
    scope,
    mode: rule.cacheMode,
    threshold: thresholdOf(rule),
  });

  return {
    /** Loads the cache now if a rule uses it, so that the first prompt does not wait. */
    async load(): Promise<void> {
      if (isUsed()) await current();
    },
    /** Resolves with the result of a similar prompt, or with undefined. Rejects only with the reason of `signal`. */
    async find(ruled: RuledPrompt, signal: AbortSignal): Promise<CachedResult | undefined> {
      const lookup = lookupOf(ruled.chosen.rule, ruled.scope);
      if (lookup.mode === 'off') return undefined;
      try {
        const found = await within(findMs, { clock, signal }, async inTime =>
          (await current()).find(ruled.prompt, lookup, inTime),
        );
        if (found.kind === 'miss') return undefined;
        const { value, similarity, ageMs } = found;
        return { kind: 'near', prompt: value, model: ruled.chosen.models[0], similarity, ageMs };
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ error: messageOf(error) }, 'the look-up in the semantic cache failed');
        return undefined;
      }
    },
    /** Stores a result in the background. */
    keep({ prompt, chosen: { rule, client }, scope }: RuledPrompt, value: string): void {
      if (rule.cacheMode === 'off' || keeping >= maxKeeping || isStopped) return;
      keeping++;
      const bounds = { scope, tag: client, ttlMs: rule.ttlMs };
      const { signal } = stores;
      current()
        .then(cache => cache.store({ prompt, value }, bounds, signal))
        .catch((error: unknown) => log.debug({ error: messageOf(error) }, 'a result was not kept'))
        .finally(() => keeping--);
    },
    /** Resolves with the most similar entries, or with an error. Rejects only with the reason of `signal`. */
    async explain(ruled: RuledPrompt, signal: AbortSignal) {
      const lookup = lookupOf(ruled.chosen.rule, ruled.scope);
      const { mode, threshold } = lookup;
      const none: readonly Nearby[] = [];
      try {
        const explained = await within(explainMs, { clock, signal }, async inTime =>
          (await current()).explain(ruled.prompt, lookup, inTime),
        );
        return { mode, ...explained };
      } catch (error) {
        signal.throwIfAborted();
        return { mode, threshold, entries: none, error: messageOf(error) };
      }
    },
    /** Removes the results of a tag, or all, and cancels those that are being stored. Resolves with their number. */
    async forget(tag?: string): Promise<number> {
      stores.abort();
      stores = new AbortController();
      return await (await current()).forget(tag);
    },
    /** Statistics, with the threshold of the default rule; undefined if the cache is not loaded and no rule uses it. */
    async stats() {
      if (!loaded && !isUsed()) return undefined;
      const cache = await current();
      const threshold = cache.thresholdOf(lookupOf(rules().default, ''));
      return { ...(await cache.stats()), threshold };
    },
    stop(): void {
      isStopped = true;
      stores.abort();
      stopCache();
    },
  };
}

/** Loads the modules of the semantic cache and of the judge. */
export async function loadSemanticCache() {
  const [{ createSemanticCache }, { createJudge }] = await Promise.all([
    import('./semantic.ts'),
    import('./judge.ts'),
  ]);
  return { createSemanticCache, createJudge };
}
