import { type Clock, type Log, messageOf, within } from '#core';
import type { Kept } from './kept.ts';
import type { ChosenRule } from './rules.ts';
import type { Lookup, Nearby, SemanticCache } from './semantic.ts';

/** A prompt by the rule of its client. */
type Place = {
  readonly prompt: string;
  readonly chosen: ChosenRule;
  /** Of all that the result depends on but the prompt. */
  readonly scope: string;
};

/** What prompts that mean the same are to the flow of one: where that fails it is as if there were none. */
export interface NearResults {
  /** Rejects where the signal is aborted, and for nothing else. */
  find(place: Place, signal: AbortSignal): Promise<Kept | undefined>;
  /** Grows whenever something is forgotten: what was begun before is not to be kept. */
  readonly epoch: number;
  /** Keeps a result, in the background. */
  keep(place: Place, result: string): void;
  /** Forgets the results of a tag, or all, and those on their way; resolves with how many. */
  forget(tag: string | undefined): Promise<number>;
  /** Rejects where the signal is aborted, and for nothing else. */
  explain(place: Place, signal: AbortSignal): Promise<NearExplanation>;
  stop(): void;
}

export type NearExplanation = Pick<Lookup, 'mode' | 'threshold'> & {
  /** The nearest first, also below the threshold. */
  readonly entries: readonly Nearby[];
  /** Why there are none to be seen. */
  readonly error?: string;
};

/** So long a look for prompts that mean the same may take; an explanation may take longer. */
const findMs = 2_000;
const explainMs = 10_000;
/** Results that are on their way into the cache; more are not kept. */
const maxKeeping = 64;

/** `threshold` is for rules that have none. */
export function createNear(
  options: { readonly threshold: number },
  needs: { readonly semantic: SemanticCache; readonly clock: Clock; readonly log: Log },
): NearResults {
  const { semantic, clock, log } = needs;
  let onTheirWay = new AbortController();
  let isStopped = false;
  let epoch = 0;
  let keeping = 0;

  const lookupOf = ({ chosen: { rule }, scope }: Place): Lookup => ({
    scope,
    mode: rule.cacheMode,
    threshold: rule.threshold ?? options.threshold,
  });

  return {
    get epoch() {
      return epoch;
    },
    async find(place, signal) {
      const lookup = lookupOf(place);
      if (lookup.mode === 'off') return undefined;
      try {
        const found = await within(findMs, { clock, signal }, inTime =>
          semantic.find(place.prompt, lookup, inTime),
        );
        if (found.kind === 'miss') return undefined;
        const { value, similarity, ageMs } = found;
        return { kind: 'near', prompt: value, model: place.chosen.models[0], similarity, ageMs };
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ error: messageOf(error) }, 'no prompt that means the same was looked for');
        return undefined;
      }
    },
    keep({ prompt, chosen, scope }, value) {
      const { rule, client } = chosen;
      if (rule.cacheMode === 'off' || keeping >= maxKeeping || isStopped) return;
      keeping++;
      semantic
        .store({ prompt, value }, { scope, tag: client, ttlMs: rule.ttlMs }, onTheirWay.signal)
        .catch((error: unknown) => log.debug({ error: messageOf(error) }, 'a result was not kept'))
        .finally(() => keeping--);
    },
    async explain(place, signal) {
      const lookup = lookupOf(place);
      const { mode, threshold } = lookup;
      try {
        const entries = await within(explainMs, { clock, signal }, inTime =>
          semantic.explain(place.prompt, lookup, inTime),
        );
        return { mode, threshold, entries };
      } catch (error) {
        signal.throwIfAborted();
        return { mode, threshold, entries: [], error: messageOf(error) };
      }
    },
    async forget(tag) {
      epoch++;
      onTheirWay.abort();
      onTheirWay = new AbortController();
      return await semantic.forget(tag);
    },
    stop() {
      isStopped = true;
      onTheirWay.abort();
      semantic.stop();
    },
  };
}
