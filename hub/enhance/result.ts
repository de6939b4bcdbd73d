import type { Found } from '#cache';
import { isObject, tryParseJson } from '#core';
import type { FailureKind } from '#models';
import type { OutputFault } from './checks/check-result.ts';

export type AttemptKind =
  | FailureKind
  | OutputFault['kind']
  /** The model does not support text completion. */
  | 'incapable';

export type Attempt = {
  readonly model: string;
  readonly kind: AttemptKind;
  /** Sentence about the failure of the model. */
  readonly message: string;
  readonly tookMs: number;
};

export type EnhanceRequest = {
  readonly prompt: string;
  /** Name that the client gives itself; undefined counts as `default`. */
  readonly client?: string | undefined;
  /** If true, the caches are not read, and the new result replaces the cached one. */
  readonly bypass?: boolean | undefined;
};

export type Enhancement = {
  /** The improved prompt, or the given one if it was not improved. */
  readonly prompt: string;
  readonly enhanced: boolean;
  /**
   * `l1`, `l2`: the exact and the semantic cache. `fallback`: a model of the fallback chain. `unchanged`: no model gave
   * a result. `disabled`: the rule is off.
   */
  readonly source: 'model' | 'l1' | 'l2' | 'fallback' | 'unchanged' | 'disabled';
  readonly cache: 'hit_l1' | 'hit_l2' | 'miss' | 'bypass' | 'disabled';
  readonly client: string;
  /** Client whose rule was used, or `default`. */
  readonly rule: string;
  readonly model?: string;
  /** Similarity to the cached prompt, if the result was made for another prompt. */
  readonly similarity?: number;
  readonly ageMs?: number;
  /** Reason why the prompt is unchanged, or why the caches were not used. */
  readonly reason?: string;
  /** Failed attempts of models, in order. */
  readonly attempts: readonly Attempt[];
  readonly tookMs: number;
};

/** An enhancement without the fields about its request. */
export type Outcome = Omit<Enhancement, 'client' | 'rule' | 'tookMs'>;

/** Result for a prompt, as it is stored in the exact cache and returned to all calls that wait for it. */
export type CachedResult =
  | (Pick<Required<Enhancement>, 'prompt' | 'model' | 'attempts'> & {
      readonly kind: 'made';
      readonly digest: string;
      /** False if a model of the fallback chain made the result. */
      readonly isOwn: boolean;
    })
  /** Result that the semantic cache found. */
  | (Pick<Required<Enhancement>, 'prompt' | 'model' | 'similarity' | 'ageMs'> & {
      readonly kind: 'near';
    })
  | { readonly kind: 'none'; readonly reason: string; readonly attempts: readonly Attempt[] };

/** Parses a result; undefined if the text has another format, because other programs may write to a shared Redis. */
export function parseResult(text: string): CachedResult | undefined {
  const value = tryParseJson(text);
  return isResult(value) ? value : undefined;
}

function isResult(value: unknown): value is CachedResult {
  if (!isObject(value)) return false;
  const { kind, prompt, model, digest, isOwn, similarity, ageMs, reason, attempts } = value;
  if (kind === 'none') return typeof reason === 'string' && isAttempts(attempts);
  if (typeof prompt !== 'string' || typeof model !== 'string') return false;
  return kind === 'made'
    ? typeof digest === 'string' && typeof isOwn === 'boolean' && isAttempts(attempts)
    : kind === 'near' && typeof similarity === 'number' && typeof ageMs === 'number';
}

const isAttempts = (value: unknown) =>
  Array.isArray(value) &&
  value.every(
    attempt =>
      isObject(attempt) &&
      ['model', 'kind', 'message'].every(field => typeof attempt[field] === 'string') &&
      typeof attempt['tookMs'] === 'number',
  );

/** Formats an attempt. Many messages already begin with the model, possibly with a tag that the rule omits. */
export const inWords = ({ model, message }: Attempt) =>
  message.startsWith(model) ? message : `${model}: ${message}`;

export const unchanged = (
  { prompt }: EnhanceRequest,
  reason: string,
  cache: Outcome['cache'],
  attempts: readonly Attempt[] = [],
): Outcome => ({ prompt, enhanced: false, source: 'unchanged', cache, reason, attempts });

/** Converts a result that was not in the exact cache to an outcome. */
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

/** Converts an entry of the exact cache to an outcome; undefined if the entry has another format. */
export function hitOf(found: Found, result: CachedResult | undefined): Outcome | undefined {
  if (result?.kind !== 'made') return undefined;
  const { prompt, model } = result;
  const ageMs = Math.round(found.ageMs);
  return { prompt, enhanced: true, source: 'l1', cache: 'hit_l1', model, ageMs, attempts: [] };
}
