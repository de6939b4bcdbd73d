import { HubError } from '#core';
import { errorAnswer, readMessage } from '#jsonrpc';
import {
  type Decision,
  type Hints,
  type Policy,
  type RuleInForce,
  type Use,
  type UsedItem,
  hintsOf,
  isHousekeeping,
  openMethods,
  policyNameOf,
  unmatched,
} from '#policy';
import type { Server } from '#servers';
import type { Call, Reply } from './call.ts';
import type { Catalog } from './catalog.ts';
import { type Decided, type ItemDecisions, strictest, useMethods } from './item-decisions.ts';
import { decideForeign, isForeign } from './method-rules.ts';
import { noteError } from './trace.ts';
import { isComparable, spellingsOf } from './uri-spellings.ts';

/** A question about the policy: whether a client may use an item, or a method if there is no item. */
export type PolicyQuestion = {
  /** The policy name of a principal, such as `cursor`. */
  readonly client: string;
  /** Default: the method that uses the item, such as `tools/call`. */
  readonly method?: string | undefined;
  /**
   * The server of the endpoint `/mcp/{server}`, where items have the server's own names. Default: the endpoint `/mcp`.
   */
  readonly server?: Server | undefined;
  readonly item?: { readonly kind: UsedItem['kind']; readonly name: string } | undefined;
};

type PolicyExplanation = {
  readonly decision: Decision;
  /** The rule that matched, as JSON text; undefined if no rule matched. */
  readonly text: string | undefined;
  readonly method: string;
  /** The name of the item on the endpoint of all servers. */
  readonly name: string | undefined;
  /** False if no server lists the item. Its hints are then the defaults of MCP. */
  readonly isListed: boolean;
  /** The hints of a tool, such as `readOnlyHint`. */
  readonly hints: Hints | undefined;
};

/** Decides as for a call, and returns the rule that applies. The decision is not counted. */
export function explain(
  { client, server, item, ...question }: PolicyQuestion,
  policy: Policy | undefined,
  catalog: Catalog,
  decisions: Pick<ItemDecisions, 'decideNamed' | 'mayUseAny'>,
): PolicyExplanation {
  const method = question.method ?? (item ? useMethods[item.kind] : 'ping');
  const endpoint = server ?? 'all';
  const listed =
    item &&
    (server
      ? catalog.findAt(server, item.kind, item.name)
      : (catalog.find(item.kind, item.name) ??
        (item.kind === 'resource' ? catalog.findResource(item.name)?.entry : undefined)));
  const decided =
    policy && item
      ? decisions.decideNamed({ policy, client, method }, endpoint, item.kind, item.name, catalog)
      : undefined;
  const use = { method, server: server?.config.name };
  const decide = (more: Partial<Use>) => policy?.decide({ ...use, ...more }, client) ?? unmatched;
  const decideMethod = () => {
    if (openMethods.has(method)) return unmatched;
    return policy && server && isForeign(method)
      ? decideForeign({ policy, client, method }, server, catalog, decisions)
      : decide({ isHousekeeping: isHousekeeping(method) });
  };
  const decision = item
    ? (decided?.decision ?? strictest(unknown(item).map(one => decide({ item: one }))) ?? unmatched)
    : decideMethod();
  const rule = policy?.ruleOf(decision)?.rule;
  const hints = item?.kind === 'tool' ? decided?.item?.hints() : undefined;
  return {
    decision,
    text: rule && JSON.stringify(rule),
    method,
    name: decided?.item?.name ?? item?.name,
    isListed: listed !== undefined,
    hints,
  };
}

/** Returns an item that no server lists: a resource with each way to write its URI. */
const unknown = ({ kind, name }: NonNullable<PolicyQuestion['item']>): readonly UsedItem[] =>
  (kind === 'resource' && isComparable(name) ? spellingsOf(name) : [name]).map(spelled => ({
    kind,
    name: spelled,
    ownName: spelled,
    hints: () => hintsOf(undefined),
  }));

/** A rule of the policy, as shown to operators. */
type PolicyRuleView = {
  readonly path: string;
  readonly rule: RuleInForce['rule'];
  readonly calls: number;
  /** Names of tools in the rule that no server lists. Some may be misspelt. */
  readonly unknownTools: readonly string[];
};

/** Lists the rules in force, with the number of calls that each decided since the start of the hub. */
export const rulesInForce = (
  policy: Policy | undefined,
  catalog: Catalog,
): readonly PolicyRuleView[] =>
  (policy?.rules ?? []).map(({ path, rule, decision }) => ({
    path,
    rule,
    calls: policy?.countOf(decision) ?? 0,
    unknownTools: path.startsWith('policy[') ? unknownIn(rule.tools, catalog) : [],
  }));

const unknownIn = (names: readonly string[] = [], catalog: Catalog) =>
  names.filter(name => !name.includes('*') && !catalog.find('tool', name));

/** Returns the answer to a denied call. */
export function refusal(call: Call, { decision, item }: Decided, policy: Policy): Reply {
  const error = denied(call, decision, item, policy);
  const bytes = errorAnswer(call.id, error);
  const written = call.trace && readMessage(bytes);
  if (written?.kind === 'answer') noteError(call, written);
  return { bytes, outcome: error.code, serverMs: 0 };
}

/** Returns the error for any denied call. */
function denied(
  { principal, request }: Call,
  decision: Decision,
  item: UsedItem | undefined,
  policy: Policy,
): HubError {
  const { rule, reason } = decision;
  const written = policy.ruleOf(decision)?.rule;
  const isByMethod = written !== undefined && 'methods' in written;
  const what =
    item && !isByMethod
      ? `the ${item.kind} ${JSON.stringify(item.name)}`
      : `the method ${JSON.stringify(request.method)}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  const message = `policy denies ${what} to ${policyNameOf(principal)}${why}`;
  return new HubError('HUB_POLICY_DENIED', message, {
    data: { rule, ...(reason !== undefined && { reason }) },
  });
}
