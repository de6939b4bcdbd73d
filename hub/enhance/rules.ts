import { hash } from 'node:crypto';
import { cacheKey } from '#cache';
import {
  type EnhancementRule,
  type EnhancementRules,
  foldClientName,
  ruleKeyOf,
  ruleOf,
} from '#config';
import { isSameModel } from '#models';
import { canonicalOf } from './canonical.ts';
import { frameVersion } from './frame.ts';
import { maxComparedLength } from './guards.ts';

/** The rule for a client, with values derived from it. */
export type ChosenRule = {
  readonly rule: EnhancementRule;
  /** Name of the client in lower case; `default` if it gave none. */
  readonly client: string;
  /** Name of the client whose rule this is, or `default`. */
  readonly name: string;
  /** Hash of all parts of the rule that affect results. */
  readonly hash: string;
  /** Models to try in order: that of the rule, then the fallback chain, without duplicates. */
  readonly models: readonly [string, ...string[]];
};

/** Maximum number of cached client names. Above it, the cache is cleared. */
const maxClients = 1_000;

/** Creates the lookup of rules by client. `usualModel` is used for rules that name no model. */
export function createRuleBook(current: () => EnhancementRules, usualModel: string) {
  function hashOf({ model, systemPrompt, options, maxGrowth }: EnhancementRule): string {
    const parts = Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const given = [frameVersion, model ?? usualModel, systemPrompt, maxGrowth, parts];
    return hash('sha256', JSON.stringify(given));
  }

  function choose(rules: EnhancementRules, given: string): ChosenRule {
    const client = foldClientName(given) || 'default';
    const key = ruleKeyOf(rules, given);
    const rule = ruleOf(rules, given);
    const model = rule.model ?? usualModel;
    const others = rules.fallbackChain.filter(
      (other, index, all) =>
        !isSameModel(other, model) && all.findIndex(one => isSameModel(one, other)) === index,
    );
    return {
      rule,
      client,
      name: key ?? 'default',
      hash: hashOf(rule),
      models: [model, ...others],
    };
  }

  let chosenFrom: EnhancementRules | undefined;
  const chosen = new Map<string, ChosenRule>();

  return {
    /** Returns the rule for a client: the same object for the same name until the rules change. */
    choose(given = ''): ChosenRule {
      const rules = current();
      if (rules !== chosenFrom || chosen.size > maxClients) chosen.clear();
      chosenFrom = rules;
      const known = chosen.get(given);
      if (known) return known;
      const made = choose(rules, given);
      chosen.set(given, made);
      return made;
    },
  };
}

/**
 * Returns the cache keys of a prompt. Results are not shared between clients, rules, models or system prompts. The hash
 * of the rule includes the system prompt and the options of the model.
 */
export function keysOf(chosen: ChosenRule, digest: string | undefined, prompt: string) {
  const { client, name, models, rule } = chosen;
  const scope = [client, name, chosen.hash, models[0], digest];
  const isCompared = rule.cacheMode !== 'shadow' && prompt.length <= maxComparedLength;
  const sequence = isCompared ? canonicalOf(prompt).sequence : [];
  return {
    /**
     * Key of the result. Prompts with the same canonical form share a key: they differ only in politeness and
     * typography. In the mode `shadow`, only equal prompts share a key.
     */
    key:
      sequence.length > 0
        ? cacheKey(['canonical', ...scope, ...sequence])
        : cacheKey(['prompt', ...scope, prompt]),
    /** Key of everything that the result depends on except the prompt; undefined if the model's digest is unknown. */
    get scope() {
      return digest === undefined ? undefined : cacheKey(['scope', ...scope]);
    },
  };
}
