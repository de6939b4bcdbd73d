import { HubError } from '#core';
import type { Principal } from '#policy';
import { elementsOf, membersOf, rawText, splice, stringAt, whole } from '#jsonrpc';
import { type ListKind, type Server, listKinds, listMethods } from '#servers';
import type { ResolvedCall, Step, Reply } from '../call.ts';
import type { Catalog } from '../catalog.ts';
import { readAnswer } from '../bridge/send.ts';

/** Returns true if a principal may use an item, given by its name on the endpoint of all servers. */
export type Permits = (
  principal: Principal,
  server: Server,
  kind: ListKind,
  publicName: string,
) => boolean;

/** The kind of item that a method uses, and the member of its params with the name. */
const uses: ReadonlyMap<string, readonly [ListKind, string]> = new Map([
  ['tools/call', ['tool', 'name']],
  ['prompts/get', ['prompt', 'name']],
  ['resources/read', ['resource', 'uri']],
  ['resources/subscribe', ['resource', 'uri']],
]);

const lists = new Map(listKinds.map(kind => [listMethods[kind].method, kind]));

/**
 * Refuses calls that are not permitted, and removes such items from lists, on either kind of endpoint. Undefined if
 * everything is permitted.
 */
export function createPolicyStep(
  permits: Permits | undefined,
  catalog: Pick<Catalog, 'list' | 'find'>,
): Step | undefined {
  if (!permits) return undefined;

  const isPermitted = ({ call, server }: ResolvedCall, kind: ListKind, name: string): boolean => {
    const { session, principal } = call;
    const entry =
      session.endpoint === 'all'
        ? catalog.find(kind, name)
        : catalog.list(kind).find(one => one.server === session.endpoint && one.name === name);
    const owner = entry?.server ?? server;
    return !owner || permits(principal, owner, kind, entry?.publicName ?? name);
  };

  function withPermitted(resolved: ResolvedCall, kind: ListKind, reply: Reply): Reply {
    const bytes = whole(reply.bytes);
    const { payload, failed } = readAnswer(bytes);
    const { member, key } = listMethods[kind];
    const span = failed ? undefined : membersOf(bytes, payload)?.get(member);
    if (!span) return reply;
    const items = elementsOf(bytes, span).filter(item => {
      const name = stringAt(bytes, membersOf(bytes, item)?.get(key));
      return name !== undefined && isPermitted(resolved, kind, name);
    });
    const text = `[${items.map(item => rawText(bytes, item)).join(',')}]`;
    return { ...reply, bytes: splice(bytes, [{ span, text }]) };
  }

  return (resolved, next) => {
    const { request, params } = resolved.call;
    const kind = lists.get(request.method);
    if (kind) {
      const reply = next(resolved);
      return reply instanceof Promise
        ? reply.then(list => withPermitted(resolved, kind, list))
        : withPermitted(resolved, kind, reply);
    }
    const [used, member = ''] = uses.get(request.method) ?? [];
    const name = used && stringAt(request.bytes, params.get(member));
    if (used && name !== undefined && !isPermitted(resolved, used, name))
      throw new HubError('HUB_NAME_UNKNOWN', `no ${used} is called ${JSON.stringify(name)}`);
    return next(resolved);
  };
}
