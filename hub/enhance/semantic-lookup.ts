import { type Clock, type Log, messageOf, within } from '#core';
import type { CachedResult } from './cached-result.ts';
import type { ChosenRule } from './rules.ts';
import type { SemanticSource } from './semantic-loader.ts';
import type { Lookup, Nearby } from './semantic.ts';

/** A prompt with the rule of its client. */
type RuledPrompt = {
  readonly prompt: string;
  readonly chosen: ChosenRule;
  /** Key of everything that the result depends on, except the prompt. */
  readonly scope: string;
};

/** The semantic cache for the enhancer. Failures of the cache count as misses. */
export interface SemanticLookup {
  /** Grows with each `forget`. A result whose work began in an earlier epoch must not be kept. */
  readonly epoch: number;
  /** Rejects only with the reason of `signal`. */
  find(prompt: RuledPrompt, signal: AbortSignal): Promise<CachedResult | undefined>;
  /** Keeps a result, in the background. */
  keep(prompt: RuledPrompt, result: string): void;
  /** Removes the results of a tag, or all, and those being kept. Resolves with their number. */
  forget(tag: string | undefined): Promise<number>;
  /** Rejects only with the reason of `signal`. */
  explain(prompt: RuledPrompt, signal: AbortSignal): Promise<SemanticExplanation>;
  stop(): void;
}

export type SemanticExplanation = Pick<Lookup, 'mode' | 'threshold'> & {
  /** The nearest first, including those below the threshold. */
  readonly entries: readonly Nearby[];
  /** Why `entries` is not known. */
  readonly error?: string;
};

/** Timeouts of a look-up and of an explanation. */
const findMs = 2_000;
const explainMs = 10_000;
/** Maximum number of results being kept. Further ones are dropped. */
const maxKeeping = 64;

/** `threshold` is for rules that set none. */
export function createSemanticLookup(
  options: { readonly threshold: number },
  needs: { readonly semantic: SemanticSource; readonly clock: Clock; readonly log: Log },
): SemanticLookup {
  const { semantic, clock, log } = needs;
  let stores = new AbortController();
  let isStopped = false;
  let epoch = 0;
  let keeping = 0;

  const lookupOf = ({ chosen: { rule }, scope }: RuledPrompt): Lookup => ({
    scope,
    mode: rule.cacheMode,
    threshold: rule.threshold ?? options.threshold,
  });

  return {
    get epoch() {
      return epoch;
    },
    async find(ruled, signal) {
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
    keep({ prompt, chosen, scope }, value) {
      const { rule, client } = chosen;
      if (rule.cacheMode === 'off' || keeping >= maxKeeping || isStopped) return;
      keeping++;
      semantic
        .store({ prompt, value }, { scope, tag: client, ttlMs: rule.ttlMs }, stores.signal)
        .catch((error: unknown) => log.debug({ error: messageOf(error) }, 'a result was not kept'))
        .finally(() => keeping--);
    },
    async explain(ruled, signal) {
      const lookup = lookupOf(ruled);
      const { mode, threshold } = lookup;
      try {
        const entries = await within(explainMs, { clock, signal }, inTime =>
          semantic.explain(ruled.prompt, lookup, inTime),
        );
        return { mode, threshold, entries };
      } catch (error) {
        signal.throwIfAborted();
        return { mode, threshold, entries: [], error: messageOf(error) };
      }
    },
    async forget(tag) {
      epoch++;
      stores.abort();
      stores = new AbortController();
      return await semantic.forget(tag);
    },
    stop() {
      isStopped = true;
      stores.abort();
      semantic.stop();
    },
  };
}
