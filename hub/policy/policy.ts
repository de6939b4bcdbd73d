import { isDeepStrictEqual } from 'node:util';
import { type Hints, hintNames } from './hints.ts';
import { type Matches, compilePatterns } from './patterns.ts';

/** A rule of the config. Absent keys match everything; each list holds names and patterns. */
type AccessRule = {
  readonly clients?: readonly string[];
  readonly servers?: readonly string[];
  readonly tools?: readonly string[];
  readonly resources?: readonly string[];
  readonly prompts?: readonly string[];
  readonly methods?: readonly string[];
  readonly annotations?: Readonly<Partial<Hints>>;
  /** A rule with `confirm` matches only tools. */
  readonly action: 'allow' | 'deny' | 'confirm';
  readonly reason?: string;
};

/** Which tools of a server may be used, by the server's own names. `path`: path of this setting in the config. */
type ServerTools = {
  readonly path: string;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
};

export type PolicyConfig = {
  readonly policy?: readonly AccessRule[];
  readonly servers: readonly { readonly name: string; readonly tools?: ServerTools }[];
};

/** The tool, resource, template or prompt that a request uses. */
export type UsedItem = {
  readonly kind: 'tool' | 'resource' | 'template' | 'prompt';
  /** Name on `/mcp` of a tool or prompt; URI of a resource; URI template of a template. */
  readonly name: string;
  /** The name or URI that the server itself uses. */
  readonly ownName: string;
  /** Returns the annotations of the tool. Called only if a rule depends on them. */
  readonly hints: () => Hints;
};

/** A request as the policy sees it: its method, its server, and the item that it uses. */
export type Use = {
  readonly method: string;
  /** Undefined for a method that the hub itself answers. */
  readonly server?: string | undefined;
  readonly item?: UsedItem | undefined;
  /** True for a method that uses nothing by itself, such as `logging/setLevel`: only rules with `methods` match it. */
  readonly isHousekeeping?: boolean;
};

/** An active rule, and its decision. */
export type RuleInForce = {
  readonly path: string;
  readonly rule:
    | AccessRule
    | { readonly tools: readonly string[]; readonly action: 'allow' | 'deny' };
  readonly decision: Decision;
};

/** Decision of the policy about a call. Decisions are constants, so a call allocates none. */
export type Decision = {
  /** `confirm`: allowed, but a person has to approve each call of the tool. */
  readonly action: 'allow' | 'deny' | 'confirm';
  /** Path of the rule in the config, such as `policy[2]`; undefined if no rule matched: the call is allowed. */
  readonly rule: string | undefined;
  readonly reason?: string;
};

/** The decision where no rule matches. */
export const unmatched: Decision = { action: 'allow', rule: undefined };

type Compiled = RuleInForce & { readonly matches: (use: Use, client: string) => boolean };

/** The compiled rules of one config, and how many calls each has decided. */
export interface Policy {
  readonly rules: readonly RuleInForce[];
  /** Returns the decision of the first rule that matches. Does not cache it. */
  decide(use: Use, client: string): Decision;
  ruleOf(decision: Decision): RuleInForce | undefined;
  /** Counts a call that got this decision. */
  count(decision: Decision): void;
  countOf(decision: Decision): number;
}

/**
 * Returns a policy that answers `refusal` to a use that is not allowed, and leaves all other uses to `base`, which is
 * undefined if the config has no policy.
 */
export const restrict = (
  base: Policy | undefined,
  isAllowed: (use: Use) => boolean,
  refusal: Decision,
): Policy => ({
  rules: base?.rules ?? [],
  decide: (use, client) => (isAllowed(use) ? (base?.decide(use, client) ?? unmatched) : refusal),
  ruleOf: decision => base?.ruleOf(decision),
  count: decision => base?.count(decision),
  countOf: decision => base?.countOf(decision) ?? 0,
});

/** True if the config has rules, or lists of tools of a server. */
export const hasPolicy = ({ policy = [], servers }: PolicyConfig): boolean =>
  policy.length > 0 ||
  servers.some(({ tools }) => tools?.allow !== undefined || tools?.deny !== undefined);

/**
 * Compiles the rules of a config. The first rule that matches decides. `tools` of a server apply before `policy`, as
 * they apply to all clients. `before`: the previous policy; equal rules keep its counts.
 */
export function createPolicy(config: PolicyConfig, before?: Policy): Policy {
  const ofServers = new Map(
    config.servers.flatMap(({ name, tools }) => {
      const rules = tools ? compileTools(tools) : [];
      return rules.length > 0 ? [[name, rules] as const] : [];
    }),
  );
  const rules = (config.policy ?? []).map(compileRule);
  const inForce: readonly RuleInForce[] = [...[...ofServers.values()].flat(), ...rules];
  const byDecision = new Map(inForce.map(each => [each.decision, each]));
  const counts = new Map<Decision, number>();
  for (const each of inForce) {
    const same = before?.rules.find(
      one => one.decision.action === each.decision.action && isDeepStrictEqual(one.rule, each.rule),
    );
    if (before && same) counts.set(each.decision, before.countOf(same.decision));
  }

  return {
    rules: inForce,
    decide(use, client) {
      const own = use.server === undefined ? undefined : ofServers.get(use.server);
      if (own && use.item?.kind === 'tool')
        for (const rule of own) if (rule.matches(use, client)) return rule.decision;
      for (const rule of rules) if (rule.matches(use, client)) return rule.decision;
      return unmatched;
    },
    ruleOf: decision => byDecision.get(decision),
    count: decision => void counts.set(decision, (counts.get(decision) ?? 0) + 1),
    countOf: decision => counts.get(decision) ?? 0,
  };
}

function compileTools({ path, allow, deny }: ServerTools): readonly Compiled[] {
  const compile = (key: 'allow' | 'deny', tools: readonly string[]): Compiled => {
    const isNamed = compilePatterns(tools);
    const wanted = key === 'deny';
    return {
      path: `${path}.${key}`,
      rule: { tools, action: key },
      decision: { action: 'deny', rule: `${path}.${key}` },
      matches: ({ item }) => item !== undefined && isNamed(item.ownName) === wanted,
    };
  };
  return [...(deny ? [compile('deny', deny)] : []), ...(allow ? [compile('allow', allow)] : [])];
}

function compileRule(rule: AccessRule, index: number): Compiled {
  const { action, reason } = rule;
  const path = `policy[${index}]`;
  return {
    path,
    rule,
    decision: { action, rule: path, ...(reason !== undefined && { reason }) },
    matches: compileMatchers(rule),
  };
}

const compiled = (patterns: readonly string[] | undefined): Matches | undefined =>
  patterns && compilePatterns(patterns);

function compileMatchers(rule: AccessRule): Compiled['matches'] {
  const isClient = compiled(rule.clients);
  const isServer = compiled(rule.servers);
  const isMethod = compiled(rule.methods);
  const isResource = compiled(rule.resources);
  const kinds: Readonly<Record<UsedItem['kind'], Matches | undefined>> = {
    tool: compiled(rule.tools),
    resource: isResource,
    template: isResource,
    prompt: compiled(rule.prompts),
  };
  const namesItems = Object.values(kinds).some(matches => matches !== undefined);
  const hints = hintNames.flatMap(name => {
    const wanted = rule.annotations?.[name];
    return wanted === undefined ? [] : [{ name, wanted }];
  });

  function isNamed({ kind, name, ownName }: UsedItem): boolean {
    const matches = kinds[kind];
    if (!matches) return false;
    // The hub may put a prefix before a URI to make it unique on /mcp. A rule for the server's URI must still match.
    return matches(name) || (matches === isResource && matches(ownName));
  }

  function isItem(item: UsedItem | undefined): boolean {
    if (namesItems && !(item && isNamed(item))) return false;
    if (rule.action !== 'confirm' && hints.length === 0) return true;
    if (item?.kind !== 'tool') return false;
    const own = item.hints();
    return hints.every(({ name, wanted }) => own[name] === wanted);
  }

  return ({ method, server, item, isHousekeeping = false }, client) =>
    (!isClient || isClient(client)) &&
    (!isServer || (server !== undefined && isServer(server))) &&
    (isMethod ? isMethod(method) : !isHousekeeping) &&
    isItem(item);
}
