import type { ExactCache, Found } from '#cache';
import { setBounded } from '#core';
import type { Models } from '#models';
import { type CachedResult, type EnhanceRequest, hitOf, parseResult } from './result.ts';
import type { ChosenRule } from './rules.ts';

type Seen = { readonly chosen: ChosenRule; readonly digest: string; readonly key: string };

/** Includes the last value and its parsed form, because parsing takes longer than the look-up. */
type Known = Seen & { value: string | undefined; result: CachedResult | undefined };

/** Maximum number of prompts. Together with `maxLength` in characters, this bounds the memory to about 4 MB. */
const maxPrompts = 500;
const maxLength = 4_000;

/**
 * Creates a store of recent prompts with the keys of their results. A repeated prompt needs no search for secrets and
 * no hash, which take longer than the look-up in the cache.
 */
export function createRecentPrompts({
  models,
  exact,
}: {
  readonly models: Pick<Models, 'known'>;
  readonly exact: Pick<ExactCache, 'hit'>;
}) {
  const recent = new Map<string, Known>();

  function read(found: Found | undefined, known: Known) {
    if (!found) return undefined;
    if (found.value !== known.value) {
      known.value = found.value;
      known.result = parseResult(found.value);
    }
    return hitOf(found, known.result);
  }

  return {
    /** Records that a prompt contains no secret, and the key of its result. */
    note(prompt: string, seen: Seen): void {
      if (prompt.length <= maxLength)
        setBounded(recent, prompt, { ...seen, value: undefined, result: undefined }, maxPrompts);
    },
    has: (prompt: string) => recent.has(prompt),
    /** Returns the cached result for a recent prompt; without a promise if the cache is in memory. */
    hit({ prompt, bypass }: EnhanceRequest, chosen: ChosenRule) {
      const seen = bypass ? undefined : recent.get(prompt);
      // After a reload of the rules, the objects differ.
      if (seen?.chosen !== chosen) return undefined;
      if (models.known(chosen.models[0])?.digest !== seen.digest) return undefined;
      const found = exact.hit(seen.key);
      return found instanceof Promise
        ? found.then(answer => read(answer, seen))
        : read(found, seen);
    },
  };
}
