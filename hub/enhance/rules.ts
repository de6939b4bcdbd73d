import { createHash } from 'node:crypto';
import { type EnhancementRule, type EnhancementRules, foldClientName } from '#config';

/** The rule for a client, and what follows from it. */
export type ChosenRule = {
  readonly rule: EnhancementRule;
  /** What the client calls itself, in small letters; `default` for one without a name. */
  readonly client: string;
  /** The client that the rule is for, or `default`. */
  readonly name: string;
  /** Another for every change of what its results depend on. */
  readonly hash: string;
  /** The rule's own model first, and each model once. Never empty. */
  readonly models: readonly [string, ...string[]];
};

/** Of more clients, what was chosen is forgotten. */
const maxClients = 1_000;

/** Finds the rule of a client. */
export interface RuleBook {
  /** The same object for the same name, as long as the rules are the same. */
  choose(client: string | undefined): ChosenRule;
}

/** `usualModel` is for rules that name no model. */
export function createRuleBook(current: () => EnhancementRules, usualModel: string): RuleBook {
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
    choose(given = '') {
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
