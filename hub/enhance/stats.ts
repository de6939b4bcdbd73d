import type { CacheStats } from '#cache';
import type { AttemptKind } from './chain.ts';
import type { Enhancement } from './result.ts';
import type { SemanticExplanation } from './semantic-lookup.ts';
import type { SemanticStats } from './semantic.ts';

/** Statistics of both caches and of the prompts. */
export type CachesStats = {
  readonly prompts: EnhancerStats;
  readonly exact: CacheStats;
  /** Undefined if no rule uses the semantic cache. */
  readonly semantic: SemanticStats | undefined;
};

/** Whether the result for a prompt is cached, and why. */
export type Explanation = {
  readonly client: string;
  readonly rule: string;
  readonly model: string;
  readonly digest: string | undefined;
  /** Why the caches are not used for this prompt. */
  readonly refused: string | undefined;
  readonly exact: {
    readonly key: string;
    /** Undefined if there is no entry, or the cache did not answer. */
    readonly ageMs: number | undefined;
    /** Why the cache did not answer. */
    readonly error?: string;
  };
  /** Undefined if the digest of the model is not known, or there is no semantic cache. */
  readonly semantic: SemanticExplanation | undefined;
};

/** Counts of prompts since the hub started. */
export type EnhancerStats = {
  readonly requests: number;
  /** Requests in progress. */
  readonly running: number;
  readonly sources: Readonly<Record<Enhancement['source'], number>>;
  /** Prompts for which no cache was used: on the client's request, or because they contain a secret. */
  readonly withoutCache: number;
  /** Failed attempts of models by kind. */
  readonly failures: { readonly [kind in AttemptKind]?: number };
};

/** Counts prompts. */
export function createEnhancerCounts() {
  let [requests, running, withoutCache] = [0, 0, 0];
  const sources = { model: 0, l1: 0, l2: 0, fallback: 0, unchanged: 0, disabled: 0 };
  const failures: { [kind in AttemptKind]?: number } = {};
  return {
    get running() {
      return running;
    },
    get stats(): EnhancerStats {
      return {
        requests,
        running,
        sources: { ...sources },
        withoutCache,
        failures: { ...failures },
      };
    },
    /** Counts a request as running until disposed. */
    begin(): Disposable {
      requests++;
      running++;
      return { [Symbol.dispose]: () => void running-- };
    },
    end({ source, cache }: Pick<Enhancement, 'source' | 'cache'>): void {
      sources[source]++;
      if (cache === 'bypass') withoutCache++;
    },
    /** Counts a request that `recent` answered. */
    hit({ source }: Pick<Enhancement, 'source'>): void {
      requests++;
      sources[source]++;
    },
    failed(kind: AttemptKind): void {
      failures[kind] = (failures[kind] ?? 0) + 1;
    },
  };
}
