import { createHash } from 'node:crypto';
import { type EnhancementRule, type EnhancementRules, foldClientName } from '#config';

/** The rule for a client, with derived values. */
export type ChosenRule = {
  readonly rule: EnhancementRule;
  /** Name of the client in lower case; `default` for a client without a name. */
  readonly client: string;
  /** The client that the rule is for, or `default`. */
  readonly name: string;
  /** Hash of everything in the rule that results depend on. */
  readonly hash: string;
  /** The model of the rule, then the fallback chain, without duplicates. */
  readonly models: readonly [string, ...string[]];
};

/** Bound of the cache by client name; it is cleared above this. */
const maxClients = 1_000;

/** Finds the rules of clients. `usualModel` is for rules that name no model. */
export function createRuleBook(current: () => EnhancementRules, usualModel: string) {
  const hashes = new WeakMap<EnhancementRule, string>();

  function hashOf(rule: EnhancementRule): string {
    const known = hashes.get(rule);
    if (known !== undefined) return known;
    const { model, systemPrompt, options } = rule;
    const parts = Object.entries(options).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const text = JSON.stringify([model ?? usualModel, systemPrompt, parts]);
    const hash = createHash('sha256').update(text).digest('hex');
    hashes.set(rule, hash);
    return hash;
  }

  function choose(rules: EnhancementRules, given: string): ChosenRule {
    const client = foldClientName(given) || 'default';
    const own = rules.clients.get(client);
    const rule = own ?? rules.default;
    const model = rule.model ?? usualModel;
    const others = rules.fallbackChain.filter(
      (other, index, all) => other !== model && all.indexOf(other) === index,
    );
    return {
      rule,
      client,
      name: own ? client : 'default',
      hash: hashOf(rule),
      models: [model, ...others],
    };
  }

  let chosenFrom: EnhancementRules | undefined;
  const chosen = new Map<string, ChosenRule>();

  return {
    /** Returns the same object for the same name until the rules change. */
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
