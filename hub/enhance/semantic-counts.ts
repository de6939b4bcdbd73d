import type { Judgement } from './judge.ts';

/** What the semantic cache has done since the hub started. */
export type SemanticCounts = {
  readonly hits: number;
  readonly misses: number;
  /** Hits that were not given, because the mode is `shadow`. */
  readonly shadowHits: number;
  readonly stored: number;
  /** Times it was passed over, because a model or the index failed. */
  readonly errors: number;
  readonly judgements: Readonly<Record<Judgement, number>>;
};

/** Counts. */
export interface SemanticCounter {
  readonly stats: SemanticCounts;
  found(kind: 'hit' | 'miss', given: { readonly isShadow: boolean }): void;
  judged(judgement: Judgement): void;
  stored(): void;
  failed(): void;
}

export function createSemanticCounts(): SemanticCounter {
  const counts = { hits: 0, misses: 0, shadowHits: 0, stored: 0, errors: 0 };
  const judgements = { same: 0, different: 0, unknown: 0 };
  return {
    get stats() {
      return { ...counts, judgements: { ...judgements } };
    },
    found(kind, { isShadow }) {
      if (kind === 'miss') counts.misses++;
      else if (isShadow) counts.shadowHits++;
      else counts.hits++;
    },
    judged: judgement => void judgements[judgement]++,
    stored: () => void counts.stored++,
    failed: () => void counts.errors++,
  };
}
