import type { PolicyRule, WrittenRule } from './policy-schema.ts';
import type { Problem } from './problem.ts';
import type { EntryDraft } from './sandbox.ts';
import { listOf } from './schema-parts.ts';

/** Which tools a server offers, and their names and descriptions. All keys are the server's own tool names. */
export type ToolSettings = {
  /** Path of these settings in the config, such as `servers.files.tools`. */
  readonly path: string;
  readonly allow?: readonly string[];
  readonly deny?: readonly string[];
  /** New tool names by the server's own names. */
  readonly rename?: Readonly<Record<string, string>>;
  readonly describe?: Readonly<Record<string, string>>;
};

/** Normalizes the rules of a file, and reports a policy that denies everything to everyone as a problem. */
export function readPolicy(written: readonly WrittenRule[]) {
  const policy = written.map(ruleOf);
  const problems: readonly Problem[] = policy.flatMap(problemsOfRule);
  const last = policy.findIndex(matchesEverything);
  const before = policy.slice(0, last);
  if (policy[last]?.action !== 'deny' || before.some(({ action }) => action !== 'deny'))
    return { policy, problems };
  const text =
    'denies everything to everybody, as no rule before it allows anything: add rules with "action": "allow" before it, or say what it denies with "clients", "servers" or "tools"';
  return { policy, problems: [...problems, { path: ['policy', last], text }] };
}

function problemsOfRule(rule: PolicyRule, index: number): readonly Problem[] {
  const { annotations, action } = rule;
  const empty = annotations && Object.keys(annotations).length === 0;
  const others =
    action === 'confirm'
      ? (['resources', 'prompts', 'methods'] as const).filter(key => rule[key] !== undefined)
      : [];
  return [
    ...(empty ? [{ path: ['policy', index, 'annotations'], text: emptyAnnotations }] : []),
    ...others.map(key => ({ path: ['policy', index, key], text: onlyTools })),
  ];
}

const onlyTools =
  'has no effect in a rule with "action": "confirm", which is about calls of tools: remove the key, or use "deny"';

const emptyAnnotations =
  'is empty, which says nothing: write a hint such as {"readOnlyHint": false}, or remove the key';

function ruleOf({ annotations, action, reason, ...lists }: WrittenRule): PolicyRule {
  const named = Object.entries(lists).map(([key, names]) => [key, listOf(names)] as const);
  return {
    ...Object.fromEntries(named),
    ...(annotations && { annotations }),
    action,
    ...(reason !== undefined && { reason }),
  };
}

/** True if no later rule can match anything. */
export function matchesEverything(rule: PolicyRule): boolean {
  const isAny = (names: readonly string[] | undefined) => names?.includes('*') ?? true;
  const items = [rule.tools, rule.resources, rule.prompts];
  const isAnyItem =
    items.every(names => names === undefined) ||
    items.every(names => names?.includes('*') === true);
  return (
    rule.action !== 'confirm' &&
    isAny(rule.clients) &&
    isAny(rule.servers) &&
    isAny(rule.methods) &&
    rule.annotations === undefined &&
    isAnyItem
  );
}

/** Returns the tool settings of an entry. Reports a name that two tools would get. */
export function toolSettings({ name, form, entry, report }: EntryDraft): ToolSettings | undefined {
  const { tools } = entry;
  if (!tools) return undefined;
  const owners = new Map<string, string>();
  for (const [old, wanted] of Object.entries(tools.rename ?? {})) {
    const other = owners.get(wanted);
    if (other !== undefined)
      report(
        ['tools', 'rename', old],
        `${JSON.stringify(wanted)} is also the new name of ${JSON.stringify(other)}: choose another`,
      );
    owners.set(wanted, old);
  }
  return { path: `${form}.${name}.tools`, ...tools };
}
