import type { Found } from '#cache';
import type { CachedResult } from './cached-result.ts';
import type { Attempt } from './chain.ts';

/** A prompt to improve. */
export type EnhanceRequest = {
  readonly prompt: string;
  /** The name that the client gives itself; undefined counts as `default`. */
  readonly client?: string | undefined;
  /** True: the caches are neither read nor written. */
  readonly bypass?: boolean | undefined;
};

/** The result for a prompt. */
export type Enhancement = {
  /** The improved prompt, or the given one unchanged. */
  readonly prompt: string;
  readonly enhanced: boolean;
  /** `fallback`: a model of the chain. `unchanged`: no model gave a prompt. `disabled`: the rule is off. */
  readonly source: 'model' | 'l1' | 'l2' | 'fallback' | 'unchanged' | 'disabled';
  readonly cache: 'hit_l1' | 'hit_l2' | 'miss' | 'bypass' | 'disabled';
  readonly client: string;
  /** The client that the rule is for, or `default`. */
  readonly rule: string;
  /** The model that wrote the prompt. */
  readonly model?: string;
  /** Similarity of the two prompts, if the result was made for another one. */
  readonly similarity?: number;
  /** Time in the cache. */
  readonly ageMs?: number;
  /** Why the prompt is unchanged, or why the caches were not used. */
  readonly reason?: string;
  /** The models that failed, in order. */
  readonly attempts: readonly Attempt[];
  readonly tookMs: number;
};

/** An enhancement without the fields about the request. */
export type Outcome = Omit<Enhancement, 'client' | 'rule' | 'tookMs'>;

export const inWords = ({ model, message }: Attempt) => `${model}: ${message}`;

/** The given prompt unchanged. */
export const unchanged = (
  { prompt }: EnhanceRequest,
  reason: string,
  cache: Outcome['cache'],
  attempts: readonly Attempt[] = [],
): Outcome => ({ prompt, enhanced: false, source: 'unchanged', cache, reason, attempts });

/** The outcome of a result that was made just now. */
export function outcomeOf(result: CachedResult, request: EnhanceRequest): Outcome {
  if (result.kind === 'none') return unchanged(request, result.reason, 'miss', result.attempts);
  const { prompt, model } = result;
  const made = { prompt, enhanced: true, model };
  if (result.kind === 'near') {
    const { similarity, ageMs } = result;
    return { ...made, source: 'l2', cache: 'hit_l2', similarity, ageMs, attempts: [] };
  }
  const source = result.isOwn ? 'model' : 'fallback';
  return { ...made, source, cache: 'miss', attempts: result.attempts };
}

/** The outcome of an entry of the exact cache; undefined for an entry in another format. */
export function hitOf(found: Found, result: CachedResult | undefined): Outcome | undefined {
  if (result?.kind !== 'made') return undefined;
  const { prompt, model } = result;
  const ageMs = Math.round(found.ageMs);
  return { prompt, enhanced: true, source: 'l1', cache: 'hit_l1', model, ageMs, attempts: [] };
}
