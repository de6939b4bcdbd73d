import { isObject } from '#core';
import type { Attempt } from './chain.ts';

/** What came of a prompt, as it is handed to all who wait for it, and kept. */
export type Kept =
  | {
      readonly kind: 'made';
      readonly prompt: string;
      readonly model: string;
      readonly digest: string;
      /** False for a model of the chain. */
      readonly isOwn: boolean;
      readonly attempts: readonly Attempt[];
    }
  /** Found among prompts that mean the same. */
  | {
      readonly kind: 'near';
      readonly prompt: string;
      readonly model: string;
      readonly similarity: number;
      readonly ageMs: number;
    }
  | {
      readonly kind: 'none';
      readonly reason: string;
      readonly attempts: readonly Attempt[];
    };

export const writeKept = (kept: Kept): string => JSON.stringify(kept);

/** Undefined for a text that is none of ours, as another program may have put into a shared Redis. */
export function readKept(text: string): Kept | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  return isKept(value) ? value : undefined;
}

function isKept(value: unknown): value is Kept {
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
    one =>
      isObject(one) &&
      typeof one['model'] === 'string' &&
      typeof one['kind'] === 'string' &&
      typeof one['message'] === 'string' &&
      typeof one['tookMs'] === 'number',
  );
