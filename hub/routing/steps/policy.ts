import { HubError } from '#core';
import { elementsOf, membersOf, rawText, readAnswer, splice, stringAt, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import { type ListKind, type Server, listKinds, listMethods } from '#servers';
import type { Call, Reply, ResolvedCall, Step } from '../call.ts';
import type { Catalog } from '../catalog.ts';

/** Returns true if a principal may use an item, given by its name on the endpoint of all servers. */
export type Permits = (
  principal: Principal,
  server: Server,
  kind: ListKind,
  publicName: string,
) => boolean;

/** The kinds of item that a method uses, and the member of its params with the name. */
type Use = { readonly kinds: readonly ListKind[]; readonly member: string };

const uses: ReadonlyMap<string, Use> = new Map<string, Use>([
  ['tools/call', { kinds: ['tool'], member: 'name' }],
  ['prompts/get', { kinds: ['prompt'], member: 'name' }],
  ['resources/read', { kinds: ['resource'], member: 'uri' }],
  ['resources/subscribe', { kinds: ['resource'], member: 'uri' }],
]);

/** The same for `completion/complete`, by the type of `params.ref`. */
const completions: ReadonlyMap<string | undefined, Use> = new Map<string, Use>([
  ['ref/prompt', { kinds: ['prompt'], member: 'name' }],
  ['ref/resource', { kinds: ['template', 'resource'], member: 'uri' }],
]);

const lists = new Map(listKinds.map(kind => [listMethods[kind].method, kind]));

/** Refuses calls that are not permitted, and removes such items from lists. Undefined if everything is permitted. */
export function createPolicyStep(
  permits: Permits | undefined,
  catalog: Pick<Catalog, 'list' | 'find'>,
): Step | undefined {
  if (!permits) return undefined;

  const find = ({ session }: Call, kind: ListKind, name: string) =>
    session.endpoint === 'all'
      ? catalog.find(kind, name)
      : catalog.list(kind).find(one => one.server === session.endpoint && one.name === name);

  const isPermitted = ({ call, server }: ResolvedCall, kind: ListKind, name: string): boolean => {
    const entry = find(call, kind, name);
    const owner = entry?.server ?? server;
    return !owner || permits(call.principal, owner, kind, entry?.publicName ?? name);
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

  /** Throws HUB_NAME_UNKNOWN if the call uses an item that is not permitted. */
  function check(resolved: ResolvedCall): void {
    const { call } = resolved;
    const { bytes, method } = call.request;
    const isCompletion = method === 'completion/complete';
    const members = isCompletion ? membersOf(bytes, call.params.get('ref')) : call.params;
    const use = isCompletion
      ? completions.get(stringAt(bytes, members?.get('type')))
      : uses.get(method);
    const name = use && stringAt(bytes, members?.get(use.member));
    if (!use || name === undefined) return;
    const kind = use.kinds.find(one => find(call, one, name)) ?? use.kinds[0];
    if (kind && !isPermitted(resolved, kind, name))
      throw new HubError('HUB_NAME_UNKNOWN', `no ${kind} is called ${JSON.stringify(name)}`);
  }

  return (resolved, next) => {
    const kind = lists.get(resolved.call.request.method);
    if (!kind) {
      check(resolved);
      return next(resolved);
    }
    const reply = next(resolved);
    return reply instanceof Promise
      ? reply.then(list => withPermitted(resolved, kind, list))
      : withPermitted(resolved, kind, reply);
  };
}
