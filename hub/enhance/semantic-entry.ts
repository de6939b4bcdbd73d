import { cacheKey } from '#cache';
import type { Near, Point } from '#vectors';
import type { Comparison } from './guards.ts';
import type { Place } from './semantic-place.ts';

/** What is kept of a prompt. */
export type Entry = {
  readonly prompt: string;
  readonly value: string;
  readonly tag: string;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
  /** True where the result was made for another prompt that means the same. */
  readonly isAlias: boolean;
};

/** An entry that lies near a prompt. */
export type Kept = {
  readonly prompt: string;
  readonly similarity: number;
  readonly ageMs: number;
  readonly entry: Entry;
};

/** An entry that lies near a prompt, with what the guards say of the two. */
export type Candidate = Kept & Comparison;

/** An entry as the index takes it: a prompt has one of its own in a scope, and one that it is another name of. */
export function pointOf(entry: Entry, { vector, scope }: Pick<Place, 'vector' | 'scope'>): Point {
  const { prompt, value, tag, createdAt, expiresAt, isAlias } = entry;
  return {
    id: uuidOf(cacheKey([scope, isAlias ? 'alias' : 'own', prompt])),
    vector,
    payload: {
      scope,
      tag,
      expires_at: expiresAt,
      created_at: createdAt,
      prompt,
      value,
      alias: isAlias ? 1 : 0,
    },
  };
}

/** Undefined for a point that is none of ours. */
export function candidateOf({ score, payload }: Near, now: number): Kept | undefined {
  const { prompt, value, tag, alias, created_at: createdAt, expires_at: expiresAt } = payload;
  if (typeof prompt !== 'string' || typeof value !== 'string' || typeof tag !== 'string')
    return undefined;
  if (typeof createdAt !== 'number' || typeof expiresAt !== 'number') return undefined;
  const entry = { prompt, value, tag, createdAt, expiresAt, isAlias: alias === 1 };
  return { prompt, similarity: score, ageMs: Math.max(0, now - createdAt), entry };
}

/** A UUID of the free form (version 8), which is all that Qdrant takes of a hash. */
function uuidOf(hash: string): string {
  const part = (from: number, to: number) => hash.slice(from, to);
  return [part(0, 8), part(8, 12), `8${part(13, 16)}`, `8${part(17, 20)}`, part(20, 32)].join('-');
}
