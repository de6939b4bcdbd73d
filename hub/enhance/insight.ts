import type { CacheStats } from '#cache';
import type { EnhancerStats } from './counts.ts';
import type { NearExplanation } from './near.ts';
import type { SemanticStats } from './semantic.ts';

/** Why a prompt would be found, or not. */
export type Explanation = {
  readonly client: string;
  readonly rule: string;
  readonly model: string;
  readonly digest: string | undefined;
  /** Why no cache is used for it. */
  readonly refused: string | undefined;
  readonly exact: {
    readonly key: string;
    /** Undefined where nothing is kept, or it is not known. */
    readonly ageMs: number | undefined;
    /** Why it is not known. */
    readonly error?: string;
  };
  /** Undefined where it is not known which model it would be, or nothing of the kind is kept. */
  readonly semantic: NearExplanation | undefined;
};

/** What both caches hold and have done, and what has become of prompts. */
export type CachesStats = {
  readonly prompts: EnhancerStats;
  readonly exact: CacheStats;
  readonly semantic: SemanticStats | undefined;
};
