import { isObject } from '#core';
import type { Attempt } from './chain.ts';

/** The result for a prompt, as all callers that wait for it get it and as the exact cache stores it. */
export type CachedResult =
  | {
      readonly kind: 'made';
      readonly prompt: string;
      readonly model: string;
      readonly digest: string;
      /** False for a model of the fallback chain. */
      readonly isOwn: boolean;
      readonly attempts: readonly Attempt[];
    }
  /** Found by the semantic cache. */
  | {
      readonly kind: 'near';
      readonly prompt: string;
      readonly model: string;
      readonly similarity: number;
      readonly ageMs: number;
    }
  | { readonly kind: 'none'; readonly reason: string; readonly attempts: readonly Attempt[] };

export const formatResult = (result: CachedResult): string => JSON.stringify(result);

/** Undefined for a text in another format: other programs may write to a shared Redis. */
export function parseResult(text: string): CachedResult | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isResult(value) ? value : undefined;
  } catch {
    // Other programs may write to a shared Redis.
    return undefined;
  }
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
