import type { Decision, Policy } from '#policy';
import { type ListKind, type Server, listKinds, listMethods } from '#servers';
import type { Catalog } from './catalog.ts';
import type { ItemDecisions } from './item-decisions.ts';

/** Methods that every client may use: they set up a session, list filtered items, or end a subscription. */
export const openMethods: ReadonlySet<string> = new Set([
  'initialize',
  'ping',
  'server/discover',
  'resources/unsubscribe',
  // Lists are filtered instead of refused: clients stop using a server if a list request fails.
  ...listKinds.map(kind => listMethods[kind].method),
]);

/** True for methods that use no item. Only rules with `methods` match them: other refusals would break clients. */
export const isHousekeeping = (method: string) =>
  method === 'logging/setLevel' || method === 'subscriptions/listen' || method.startsWith('tasks/');

export const kindOfMethod: ReadonlyMap<string, ListKind> = new Map<string, ListKind>([
  ['tools/call', 'tool'],
  ['prompts/get', 'prompt'],
  ['resources/read', 'resource'],
  ['resources/subscribe', 'resource'],
]);

/** True for methods that MCP does not define: the hub does not know which item they use. */
export const isForeign = (method: string) =>
  !openMethods.has(method) &&
  !kindOfMethod.has(method) &&
  !isHousekeeping(method) &&
  method !== 'completion/complete';

const nothingToUse: Decision = {
  action: 'deny',
  rule: undefined,
  reason: 'it may use nothing of this server',
};

/**
 * Decides about a method that MCP does not define. A client that may use no item of the server may use such a method
 * only by a rule with `methods`.
 */
export function decideForeign(
  asked: { readonly policy: Policy; readonly client: string; readonly method: string },
  server: Server,
  catalog: Catalog,
  { mayUseAny }: Pick<ItemDecisions, 'mayUseAny'>,
): Decision {
  const { policy, client, method } = asked;
  const decision = policy.decide({ method, server: server.config.name }, client);
  const rule = policy.ruleOf(decision)?.rule;
  if (decision.action === 'deny' || (rule && 'methods' in rule)) return decision;
  return mayUseAny(policy, client, server, catalog) === false ? nothingToUse : decision;
}
