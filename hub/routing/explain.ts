import { type Decision, type Hints, type Policy, type UsedItem, hintsOf, unmatched } from '#policy';
import type { Server } from '#servers';
import type { Catalog } from './catalog.ts';
import { type ItemDecisions, useMethods } from './item-decisions.ts';

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

export type PolicyExplanation = {
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
  { decideNamed }: Pick<ItemDecisions, 'decideNamed'>,
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
      ? decideNamed({ policy, client, method }, endpoint, item.kind, item.name, catalog)
      : undefined;
  const decision =
    decided?.decision ??
    policy?.decide({ method, server: server?.config.name, item: item && unknown(item) }, client) ??
    unmatched;
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

const unknown = ({ kind, name }: NonNullable<PolicyQuestion['item']>): UsedItem => ({
  kind,
  name,
  ownName: name,
  hints: () => hintsOf(undefined),
});
