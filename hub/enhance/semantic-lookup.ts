import { type Clock, type Log, messageOf, within } from '#core';
import type { CachedResult } from './result.ts';
import type { ChosenRule } from './rules.ts';
import type { SemanticSource } from './semantic-loader.ts';
import type { Lookup, Nearby, Threshold } from './semantic.ts';

/** A prompt with the rule of its client. */
type RuledPrompt = {
  readonly prompt: string;
  readonly chosen: ChosenRule;
  /** Key of everything that the result depends on, except the prompt. */
  readonly scope: string;
};

export type SemanticLookup = ReturnType<typeof createSemanticLookup>;

/** Timeouts of a look-up and of an explanation. */
const findMs = 2_000;
const explainMs = 10_000;
/** Maximum number of results being kept. Further ones are dropped. */
const maxKeeping = 64;

/**
 * The semantic cache for the enhancer. Its failures count as misses. `threshold` is CACHE_SIMILARITY_THRESHOLD, for
 * rules that set none.
 */
export function createSemanticLookup(
  options: { readonly threshold: number | undefined },
  needs: { readonly semantic: SemanticSource; readonly clock: Clock; readonly log: Log },
) {
  const { semantic, clock, log } = needs;
  let stores = new AbortController();
  let isStopped = false;
  let epoch = 0;
  let keeping = 0;

  function thresholdOf({ threshold }: ChosenRule['rule']): Threshold | undefined {
    if (threshold !== undefined) return { value: threshold, from: 'rule' };
    const { threshold: value } = options;
    return value === undefined ? undefined : { value, from: 'CACHE_SIMILARITY_THRESHOLD' };
  }

  const lookupOf = ({ chosen: { rule }, scope }: RuledPrompt): Lookup => ({
    scope,
    mode: rule.cacheMode,
    threshold: thresholdOf(rule),
  });

  return {
    /** Grows with each `forget`. A result whose work began in an earlier epoch must not be kept. */
    get epoch() {
      return epoch;
    },
    /** Rejects only with the reason of `signal`. */
    async find(ruled: RuledPrompt, signal: AbortSignal): Promise<CachedResult | undefined> {
      const lookup = lookupOf(ruled);
      if (lookup.mode === 'off') return undefined;
      try {
        const found = await within(findMs, { clock, signal }, inTime =>
          semantic.find(ruled.prompt, lookup, inTime),
        );
        if (found.kind === 'miss') return undefined;
        const { value, similarity, ageMs } = found;
        return { kind: 'near', prompt: value, model: ruled.chosen.models[0], similarity, ageMs };
      } catch (error) {
        signal.throwIfAborted();
        log.debug({ error: messageOf(error) }, 'the look-up in the semantic cache failed');
        return undefined;
      }
    },
    /** Keeps a result, in the background. */
    keep({ prompt, chosen, scope }: RuledPrompt, value: string): void {
      const { rule, client } = chosen;
      if (rule.cacheMode === 'off' || keeping >= maxKeeping || isStopped) return;
      keeping++;
      semantic
        .store({ prompt, value }, { scope, tag: client, ttlMs: rule.ttlMs }, stores.signal)
        .catch((error: unknown) => log.debug({ error: messageOf(error) }, 'a result was not kept'))
        .finally(() => keeping--);
    },
    /** The nearest entries, or why they are not known. Rejects only with the reason of `signal`. */
    async explain(ruled: RuledPrompt, signal: AbortSignal) {
      const lookup = lookupOf(ruled);
      const { mode, threshold } = lookup;
      const none: readonly Nearby[] = [];
      try {
        const explained = await within(explainMs, { clock, signal }, inTime =>
          semantic.explain(ruled.prompt, lookup, inTime),
        );
        return { mode, ...explained };
      } catch (error) {
        signal.throwIfAborted();
        return { mode, threshold, entries: none, error: messageOf(error) };
      }
    },
    /** Removes the results of a tag, or all, and those being kept. Resolves with their number. */
    async forget(tag: string | undefined): Promise<number> {
      epoch++;
      stores.abort();
      stores = new AbortController();
      return await semantic.forget(tag);
    },
    stop(): void {
      isStopped = true;
      stores.abort();
      semantic.stop();
    },
  };
}
