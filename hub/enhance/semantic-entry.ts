import { cacheKey } from '#cache';
import type { Near, Point } from '#vectors';
import type { Comparison } from './guards.ts';
import type { EmbeddedPrompt } from './semantic-vectors.ts';

/** An entry of the semantic cache. Times are milliseconds since the epoch. */
export type SemanticEntry = {
  readonly prompt: string;
  readonly value: string;
  readonly tag: string;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** True if the result was made for another prompt with the same meaning. */
  readonly isAlias: boolean;
};

/** An entry near a prompt. */
export type NearEntry = {
  readonly prompt: string;
  readonly similarity: number;
  readonly ageMs: number;
  readonly entry: SemanticEntry;
};

/** An entry near a prompt, compared by the guards. */
export type Candidate = NearEntry & Comparison;

/** The point of an entry. A prompt has at most one entry of its own in a scope, and one alias. */
export function pointOf(
  { prompt, value, tag, createdAt, expiresAt, isAlias }: SemanticEntry,
  { vector, scope }: Pick<EmbeddedPrompt, 'vector' | 'scope'>,
): Point {
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

/** Reads an entry; undefined for the point of another program. */
export function entryOf({ score, payload }: Near, now: number): NearEntry | undefined {
  const { prompt, value, tag, alias, created_at: createdAt, expires_at: expiresAt } = payload;
  if (typeof prompt !== 'string' || typeof value !== 'string' || typeof tag !== 'string')
    return undefined;
  if (typeof createdAt !== 'number' || typeof expiresAt !== 'number') return undefined;
  const entry = { prompt, value, tag, createdAt, expiresAt, isAlias: alias === 1 };
  return { prompt, similarity: score, ageMs: Math.max(0, now - createdAt), entry };
}

/** A UUID of version 8 (custom content): Qdrant takes no other form of a hash. */
function uuidOf(hash: string): string {
  const part = (from: number, to: number) => hash.slice(from, to);
  return [part(0, 8), part(8, 12), `8${part(13, 16)}`, `8${part(17, 20)}`, part(20, 32)].join('-');
}
