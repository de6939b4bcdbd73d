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

/** Finds the rule of a client. */
export interface RuleBook {
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

  return {
    choose(given) {
      const rules = current();
      const client = foldClientName(given ?? '') || 'default';
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
    },
  };
}
