import { type EnhancementRule, type EnhancementRules, defaultRules } from '#config';

type RuleChanges = Partial<EnhancementRule>;
export type RulesChanges = {
  readonly rule?: RuleChanges;
  readonly clients?: Readonly<Record<string, RuleChanges>>;
  readonly fallbackChain?: readonly string[];
};

/** Rule of most tests. It has short timeouts, so that hanging calls end soon. */
export const quick = {
  model: 'llama3.2:3b',
  systemPrompt: 'Improve the prompt.',
  totalMs: 10_000,
  firstTokenMs: 1_000,
  loadMs: 1_000,
} as const;

export function rulesOf({ rule = {}, clients = {}, fallbackChain = [] }: RulesChanges = {}) {
  const base: EnhancementRule = { ...defaultRules.default, ...quick, ...rule };
  const rules: EnhancementRules = {
    ...defaultRules,
    default: base,
    clients: new Map(
      Object.entries(clients).map(([name, changes]) => [name, { ...base, ...changes }] as const),
    ),
    fallbackChain,
  };
  return rules;
}
