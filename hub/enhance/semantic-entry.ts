import { cacheKey } from '#cache';
import type { Clock } from '#core';
import type { Models } from '#models';
import type { Near, Point } from '#vectors';
import type { Comparison } from './guards.ts';
import { setBounded } from './set-bounded.ts';

/** A prompt as the vector index finds it. */
export type EmbeddedPrompt = {
  /** One for each embedding model digest: vectors of different models are not comparable. */
  readonly collection: string;
  readonly scope: string;
  readonly vector: Float32Array;
};

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

/** An entry near a prompt, compared by the guards. */
export type Candidate = Comparison & {
  readonly similarity: number;
  readonly ageMs: number;
  readonly entry: SemanticEntry;
};

/** Changes with the format of vectors or entries. */
const version = 'v1';
/** nomic-embed-text expects a task prefix, the same for all texts that are compared. */
const nomicTask = 'clustering: ';
/** A miss embeds the same prompt twice, for the look-up and for the entry. 64 vectors of 768 numbers take 200 KB. */
const maxRecent = 64;
const recentMs = 60_000;

/** Creates a function that embeds a prompt. Rejects with a ModelFailure, or with the reason of the signal. */
export function createPromptEmbedder(
  embeddingModel: string,
  { models, clock }: { readonly models: Pick<Models, 'embed'>; readonly clock: Clock },
) {
  type Embedding = Awaited<ReturnType<Models['embed']>>;
  const task = /nomic-embed/i.test(embeddingModel) ? nomicTask : '';
  const recent = new Map<string, Embedding & { readonly at: number }>();

  async function embed(prompt: string, signal: AbortSignal): Promise<Embedding> {
    const known = recent.get(prompt);
    if (known && clock.monotonic() - known.at < recentMs) return known;
    const embedded = await models.embed(embeddingModel, task + prompt, signal);
    setBounded(recent, prompt, { ...embedded, at: clock.monotonic() }, maxRecent);
    return embedded;
  }

  return async (prompt: string, scope: string, signal: AbortSignal): Promise<EmbeddedPrompt> => {
    const { vector, digest } = await embed(prompt, signal);
    const model = cacheKey(['embedding', embeddingModel, digest, task]).slice(0, 16);
    const collection = `prompts-${version}-${model}-${vector.length}`;
    return { collection, scope: cacheKey(['semantic', collection, scope]), vector };
  };
}

/** The point of an entry. A prompt has at most one entry of its own in a scope, and one alias. */
export function pointOf(entry: SemanticEntry, { vector, scope }: EmbeddedPrompt): Point {
  const { prompt, value, tag, createdAt, expiresAt, isAlias } = entry;
  const times = { expires_at: expiresAt, created_at: createdAt };
  return {
    id: uuidOf(cacheKey([scope, isAlias ? 'alias' : 'own', prompt])),
    vector,
    payload: { scope, tag, ...times, prompt, value, alias: isAlias ? 1 : 0 },
  };
}

/** Reads an entry; undefined for the point of another program. */
export function entryOf({ payload }: Near): SemanticEntry | undefined {
  const { prompt, value, tag, alias, created_at: createdAt, expires_at: expiresAt } = payload;
  if (typeof prompt !== 'string' || typeof value !== 'string' || typeof tag !== 'string')
    return undefined;
  if (typeof createdAt !== 'number' || typeof expiresAt !== 'number') return undefined;
  return { prompt, value, tag, createdAt, expiresAt, isAlias: alias === 1 };
}

/** A UUID of version 8 (custom content): Qdrant takes no other form of a hash. */
const uuidOf = (hash: string) =>
  hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
