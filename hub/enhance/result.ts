import type { Found } from '#cache';
import { isObject, tryParseJson } from '#core';
import type { FailureKind } from '#models';
import type { OutputFault } from './checks/check-result.ts';

export type AttemptKind =
  | FailureKind
  | OutputFault['kind']
  /** The model cannot complete text. */
  | 'incapable';

export type Attempt = {
  readonly model: string;
  readonly kind: AttemptKind;
  /** A sentence about the model. */
  readonly message: string;
  readonly tookMs: number;
};

export type EnhanceRequest = {
  readonly prompt: string;
  /** The name that the client gives itself; undefined counts as `default`. */
  readonly client?: string | undefined;
  /** True: the caches are not read, and the new result replaces the cached one. */
  readonly bypass?: boolean | undefined;
};

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
  readonly model?: string;
  /** Similarity of the two prompts, if the result was made for another one. */
  readonly similarity?: number;
  readonly ageMs?: number;
  /** Why the prompt is unchanged, or why the caches were not used. */
  readonly reason?: string;
  /** The models that failed, in order. */
  readonly attempts: readonly Attempt[];
  readonly tookMs: number;
};

/** An enhancement without the fields about the request. */
export type Outcome = Omit<Enhancement, 'client' | 'rule' | 'tookMs'>;

/** The result for a prompt, as all callers that wait for it get it and as the exact cache stores it. */
export type CachedResult =
  | (Pick<Required<Enhancement>, 'prompt' | 'model' | 'attempts'> & {
      readonly kind: 'made';
      readonly digest: string;
      /** False for a model of the fallback chain. */
      readonly isOwn: boolean;
    })
  /** Found by the semantic cache. */
  | (Pick<Required<Enhancement>, 'prompt' | 'model' | 'similarity' | 'ageMs'> & {
      readonly kind: 'near';
    })
  | { readonly kind: 'none'; readonly reason: string; readonly attempts: readonly Attempt[] };

/** Undefined for a text in another format: other programs may write to a shared Redis. */
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

/** Many messages begin with the model already, perhaps with the tag that its name in the rule omits. */
export const inWords = ({ model, message }: Attempt) =>
  message.startsWith(model) ? message : `${model}: ${message}`;

export const unchanged = (
  { prompt }: EnhanceRequest,
  reason: string,
  cache: Outcome['cache'],
  attempts: readonly Attempt[] = [],
): Outcome => ({ prompt, enhanced: false, source: 'unchanged', cache, reason, attempts });

/** Returns the outcome of a result that the cache of equal prompts did not contain. */
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
