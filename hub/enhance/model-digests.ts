import { type Clock, setBounded, within } from '#core';
import type { Models } from '#models';

/** Timeout in ms of a request to Ollama if an earlier digest is known. */
const askMs = 250;
/** Time in ms after a failed request to Ollama during which no other is sent. */
const silentMs = 5_000;
const maxKnown = 200;

/** Creates a lookup of the digests of models by name. A model with another digest is another model. */
export function createModelDigests(needs: {
  readonly models: Pick<Models, 'find'>;
  readonly clock: Clock;
}) {
  const { models, clock } = needs;
  const known = new Map<string, string>();
  let silentUntil = -Infinity;

  return {
    /**
     * Resolves with the digest of a model, or with undefined after at most `patienceMs`. While Ollama does not answer,
     * resolves with the last known digest, so that cached results are still found. Rejects only with the reason of
     * `signal`.
     */
    async find(
      model: string,
      patienceMs: number,
      signal: AbortSignal,
    ): Promise<string | undefined> {
      if (clock.monotonic() < silentUntil) return known.get(model);
      const waitMs = known.has(model) ? Math.min(askMs, patienceMs) : patienceMs;
      try {
        const info = await within(waitMs, { clock, signal }, inTime => models.find(model, inTime));
        if (info?.digest) setBounded(known, model, info.digest, maxKnown);
        else known.delete(model);
        return info?.digest || undefined;
      } catch {
        // While Ollama does not answer, the last known digest is used.
        signal.throwIfAborted();
        silentUntil = clock.monotonic() + silentMs;
        return known.get(model);
      }
    },
  };
}
