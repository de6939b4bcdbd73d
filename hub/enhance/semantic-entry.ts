import { cacheKey } from '#cache';
import { type Clock, type Log, setBounded } from '#core';
import { ModelFailure, type Models } from '#models';
import type { Near, Point } from '#vectors';
import { canonicalOf } from './canonical.ts';
import type { Comparison } from './guards.ts';
import { holdsSecret } from './secrets.ts';

/** A prompt with its embedding, as the vector index needs it. */
export type EmbeddedPrompt = {
  /** Collection of the embedding model's digest, because vectors of different models are not comparable. */
  readonly collection: string;
  readonly scope: string;
  readonly vector: Float32Array;
  readonly digest: string;
};

/** An entry of the semantic cache. Times are in milliseconds since the epoch. */
export type SemanticEntry = {
  readonly prompt: string;
  readonly value: string;
  readonly tag: string;
  readonly createdAt: number;
  readonly expiresAt: number;
};

/** An entry similar to a prompt, with the verdict of the guards. */
export type Candidate = Comparison & {
  readonly similarity: number;
  readonly ageMs: number;
  readonly entry: SemanticEntry;
};

/** Version of vectors and entries. Change it if their format changes. In `v1`, prompts were embedded as written. */
const version = 'v2';
/** Task prefix for nomic-embed-text, which must be the same for all texts that are compared. */
const nomicTask = 'clustering: ';
/** Maximum number of cached embeddings, 200 KB. A miss embeds a prompt twice, for the look-up and for the entry. */
const maxRecent = 64;
const recentMs = 60_000;
const maxValueLength = 64_000;

const refused =
  'the embedding model cannot embed prompts: only equal prompts share a result. Name another one as "embedding_model" in the rules for prompts';

type Embedding = Awaited<ReturnType<Models['embed']>>;

/**
 * Returns the text of a prompt for the embedding model: its canonical form, so that politeness, typography and spelling
 * do not change the vector. Prompts with equal canonical forms have a similarity of 1.
 */
export function embeddedText(embeddingModel: string, prompt: string): string {
  const words = canonicalOf(prompt).sequence.map(item => item.replace(/^[a-z]+ (?=.)/s, ''));
  return (/nomic-embed/i.test(embeddingModel) ? nomicTask : '') + (words.join(' ') || prompt);
}

type EmbedderNeeds = {
  readonly models: Pick<Models, 'embed'>;
  readonly clock: Clock;
  readonly log: Log;
};

/**
 * Creates a function that embeds a prompt. It rejects with a ModelFailure, or with the reason of the signal. A model
 * that Ollama has but cannot embed with is logged once.
 */
export function createPromptEmbedder(
  embeddingModel: string,
  { models, clock, log }: EmbedderNeeds,
) {
  const recent = new Map<string, Embedding & { readonly at: number }>();
  let latest: string | undefined;
  let isRefused = false;

  async function embed(prompt: string, signal: AbortSignal): Promise<Embedding> {
    const known = recent.get(prompt);
    if (known && clock.monotonic() - known.at < recentMs) return known;
    const text = embeddedText(embeddingModel, prompt);
    const embedded = await models.embed(embeddingModel, text, signal).catch((error: unknown) => {
      if (error instanceof ModelFailure && error.kind === 'refused' && !isRefused) {
        isRefused = true;
        log.warn({ model: embeddingModel, error: error.message }, refused);
      }
      throw error;
    });
    isRefused = false;
    // Another model has the name now: entries must not be stored beside those of the former model.
    if (embedded.digest !== latest) recent.clear();
    latest = embedded.digest;
    setBounded(recent, prompt, { ...embedded, at: clock.monotonic() }, maxRecent);
    return embedded;
  }

  return async (prompt: string, scope: string, signal: AbortSignal): Promise<EmbeddedPrompt> => {
    const { vector, digest } = await embed(prompt, signal);
    const model = cacheKey(['embedding', embeddingModel, digest]).slice(0, 16);
    const collection = `prompts-${version}-${model}-${vector.length}`;
    return { collection, scope: cacheKey(['semantic', collection, scope]), vector, digest };
  };
}

/** Converts an entry to a point. A prompt has at most one entry in a scope. */
export function pointOf(
  { prompt, value, tag, createdAt, expiresAt }: SemanticEntry,
  { vector, scope }: Pick<EmbeddedPrompt, 'vector' | 'scope'>,
): Point {
  const times = { expires_at: expiresAt, created_at: createdAt };
  return {
    id: uuidOf(cacheKey([scope, prompt])),
    vector,
    payload: { scope, tag, ...times, prompt, value },
  };
}

/** Converts a point to an entry; undefined if another program stored the point. */
export function entryOf({ payload }: Near): SemanticEntry | undefined {
  const { prompt, value, tag, created_at: createdAt, expires_at: expiresAt } = payload;
  if (typeof prompt !== 'string' || typeof value !== 'string' || typeof tag !== 'string')
    return undefined;
  if (typeof createdAt !== 'number' || typeof expiresAt !== 'number') return undefined;
  return { prompt, value, tag, createdAt, expiresAt };
}

/** Converts a hash to a UUID of version 8 (custom content), because Qdrant accepts no other strings as ids. */
const uuidOf = (hash: string) =>
  hash.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');

/** Returns the reason why a prompt is not cached by its meaning; undefined if it may be. */
export function whyUnfit(prompt: string, maxLength: number): string | undefined {
  if (prompt.trim() === '') return 'the prompt is blank';
  if (prompt.length > maxLength) return `the prompt is longer than ${maxLength} characters`;
  return holdsSecret(prompt) ? 'the prompt seems to hold a secret' : undefined;
}

/** Returns the reason why a result is not stored; undefined if it may be. */
export function whyNoValue(value: string): string | undefined {
  if (value.trim() === '') return 'the result is blank';
  if (value.length > maxValueLength)
    return `the result is longer than ${maxValueLength} characters`;
  return holdsSecret(value) ? 'the result seems to hold a secret' : undefined;
}
