import { cacheKey } from '#cache';
import type { Clock } from '#core';
import type { Models } from '#models';

/** A prompt as the vector index finds it. */
export type EmbeddedPrompt = {
  /** One for each embedding model digest: vectors of different models are not comparable. */
  readonly collection: string;
  readonly scope: string;
  readonly vector: Float32Array;
};

/** Embeds a prompt. Rejects with a ModelFailure, or with the reason of the signal. */
export type EmbedPrompt = (
  prompt: string,
  scope: string,
  signal: AbortSignal,
) => Promise<EmbeddedPrompt>;

/** Changes with the format of vectors or entries. */
const version = 'v1';
/** nomic-embed-text expects a task prefix, the same for all texts that are compared. */
const nomicTask = 'clustering: ';
/** A miss embeds the same prompt twice, for the look-up and for the entry. 64 vectors of 768 numbers take 200 KB. */
const maxRecent = 64;
const recentMs = 60_000;

type Embedded = { readonly vector: Float32Array; readonly digest: string };

export function createPromptEmbedder(
  embeddingModel: string,
  { models, clock }: { readonly models: Pick<Models, 'embed'>; readonly clock: Clock },
): EmbedPrompt {
  const task = /nomic-embed/i.test(embeddingModel) ? nomicTask : '';
  const recent = new Map<string, { readonly at: number; readonly embedded: Embedded }>();

  async function embed(prompt: string, signal: AbortSignal): Promise<Embedded> {
    const known = recent.get(prompt);
    if (known && clock.monotonic() - known.at < recentMs) return known.embedded;
    const embedded = await models.embed(embeddingModel, task + prompt, signal);
    recent.delete(prompt);
    recent.set(prompt, { at: clock.monotonic(), embedded });
    const [oldest] = recent.keys();
    if (recent.size > maxRecent && oldest !== undefined) recent.delete(oldest);
    return embedded;
  }

  return async (prompt, scope, signal) => {
    const { vector, digest } = await embed(prompt, signal);
    const model = cacheKey(['embedding', embeddingModel, digest, task]).slice(0, 16);
    const collection = `prompts-${version}-${model}-${vector.length}`;
    return { collection, scope: cacheKey(['semantic', collection, scope]), vector };
  };
}
