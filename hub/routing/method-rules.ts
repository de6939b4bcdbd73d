import { type Decision, type Policy, isHousekeeping, openMethods } from '#policy';
import type { ListKind, Server } from '#servers';
import type { Catalog } from './catalog.ts';
import type { ItemDecisions } from './item-decisions.ts';

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
