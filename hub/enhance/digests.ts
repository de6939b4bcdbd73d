import { type Clock, within } from '#core';
import type { Models } from '#models';

/** What Ollama has under the name of a model: another digest, another model. */
export interface Digests {
  /**
   * Undefined where it is not known, for which `patienceMs` is waited at most. While Ollama does not say, the
   * digest that it had last, so that results that are kept are found. Rejects where the signal is aborted, and
   * for nothing else.
   */
  find(model: string, patienceMs: number, signal: AbortSignal): Promise<string | undefined>;
}

/** So long Ollama has to answer where its last answer will do. */
const askMs = 250;
/** So long it is not asked again where it did not answer. */
const silentMs = 5_000;
const maxKnown = 200;

export function createDigests(needs: {
  readonly models: Pick<Models, 'find'>;
  readonly clock: Clock;
}): Digests {
  const { models, clock } = needs;
  const known = new Map<string, string>();
  let silentUntil = -Infinity;

  return {
    async find(model, patienceMs, signal) {
      if (clock.monotonic() < silentUntil) return known.get(model);
      const waitMs = known.has(model) ? Math.min(askMs, patienceMs) : patienceMs;
      try {
        const info = await within(waitMs, { clock, signal }, inTime => models.find(model, inTime));
        known.delete(model);
        if (info?.digest) known.set(model, info.digest);
        const [oldest] = known.keys();
        if (known.size > maxKnown && oldest !== undefined) known.delete(oldest);
        return info?.digest || undefined;
      } catch {
        signal.throwIfAborted();
        silentUntil = clock.monotonic() + silentMs;
        return known.get(model);
      }
    },
  };
}
