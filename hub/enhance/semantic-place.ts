import { cacheKey } from '#cache';
import type { Clock } from '#core';
import type { Models } from '#models';

/** Where a prompt lies among the others of its scope. */
export type Place = {
  /** Of one embedding model, by its digest: vectors of two models say nothing of each other. */
  readonly collection: string;
  readonly scope: string;
  readonly vector: Float32Array;
};

/** Finds the places of prompts. */
export interface Places {
  /** Rejects with a ModelFailure, and with the reason of `signal`. */
  find(prompt: string, scope: string, signal: AbortSignal): Promise<Place>;
}

/** Changes with anything that makes vectors or entries another thing. */
const version = 'v1';
/** nomic-embed-text wants to be told its task; both sides of a comparison get the same. */
const nomicTask = 'clustering: ';
/** A prompt is looked for and kept shortly after: the vector is asked for once. 64 of 768 numbers are 200 KB. */
const maxRecent = 64;
const recentMs = 60_000;

type Embedded = { readonly vector: Float32Array; readonly digest: string };

export function createPlaces(
  { embeddingModel }: { readonly embeddingModel: string },
  { models, clock }: { readonly models: Pick<Models, 'embed'>; readonly clock: Clock },
): Places {
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

  return {
    async find(prompt, scope, signal) {
      const { vector, digest } = await embed(prompt, signal);
      const model = cacheKey(['embedding', embeddingModel, digest, task]).slice(0, 16);
      const collection = `prompts-${version}-${model}-${vector.length}`;
      return { collection, scope: cacheKey(['semantic', collection, scope]), vector };
    },
  };
}
