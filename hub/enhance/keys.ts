import { cacheKey } from '#cache';
import { canonicalOf } from './canonical.ts';
import { maxComparedLength } from './guards.ts';
import type { ChosenRule } from './rules.ts';

/** The keys under which the result of a prompt is cached. */
export type Keys = {
  /** Key of everything that the result depends on. */
  readonly exact: string;
  /**
   * The same key with the canonical form of the prompt, as the guards compare it. Only for rules whose prompts are
   * not embedded, and for prompts that have a canonical form.
   */
  readonly canonical: string | undefined;
  /** Key of everything except the prompt; undefined if the digest of the model is not known. */
  readonly scope: string | undefined;
};

/**
 * The keys of a prompt. Results are not shared between clients, rules, models or system prompts; the hash of the
 * rule covers the system prompt and the options of the model.
 */
export function keysOf(chosen: ChosenRule, digest: string | undefined, prompt: string): Keys {
  const { client, name, hash, models, rule } = chosen;
  const scope = [client, name, hash, models[0], digest];
  const isCompared = rule.cacheMode === 'off' && prompt.length <= maxComparedLength;
  const sequence = isCompared ? canonicalOf(prompt).sequence : [];
  return {
    exact: cacheKey(['prompt', ...scope, prompt]),
    canonical: sequence.length > 0 ? cacheKey(['canonical', ...scope, ...sequence]) : undefined,
    get scope() {
      return digest === undefined ? undefined : cacheKey(['scope', ...scope]);
    },
  };
}
