import { cacheKey } from '#cache';
import type { ChosenRule } from './rules.ts';

/** Under what the result of a prompt is kept. */
export type Keys = {
  /** Of all that the result depends on. */
  readonly exact: string;
  /** Of all but the prompt; undefined where it is not known which model it would be. */
  readonly scope: string | undefined;
};

/**
 * The keys of a prompt: no client, rule, model or system prompt finds what was kept for another. The last, and
 * the options of the model, are in the rule's hash.
 */
export function keysOf(chosen: ChosenRule, digest: string | undefined, prompt: string): Keys {
  const { client, name, hash, models } = chosen;
  const scope = [client, name, hash, models[0], digest];
  return {
    exact: cacheKey(['prompt', ...scope, prompt]),
    get scope() {
      return digest === undefined ? undefined : cacheKey(['scope', ...scope]);
    },
  };
}
