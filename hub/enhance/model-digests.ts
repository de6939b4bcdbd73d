import { type Clock, setBounded, within } from '#core';
import type { Models } from '#models';

/** Timeout for Ollama if an earlier digest is known. */
const askMs = 250;
/** Pause after Ollama did not answer, in which it is not asked again. */
const silentMs = 5_000;
const maxKnown = 200;

/** Digests of models by name. A model with another digest is another model. */
export function createModelDigests(needs: {
  readonly models: Pick<Models, 'find'>;
  readonly clock: Clock;
}) {
  const { models, clock } = needs;
  const known = new Map<string, string>();
  let silentUntil = -Infinity;

  return {
    /**
     * Waits at most `patienceMs`; undefined if the digest is not known by then. While Ollama does not answer, returns
     * the last known digest, so that cached results are still found. Rejects only with the reason of `signal`.
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
        // The last known digest is used while Ollama does not answer.
        signal.throwIfAborted();
        silentUntil = clock.monotonic() + silentMs;
        return known.get(model);
      }
    },
  };
}
