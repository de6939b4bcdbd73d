import { isObject } from '#core';
import { type Span, membersOf, setMembers, splice, valueOf } from '#jsonrpc';

/**
 * Hubs may be servers of each other, also in a circle. So a hub says its id in its capabilities; a hub that reads lists of
 * another one adds the id of that to `_meta` of each item, and leaves out items that came through itself.
 */
const hubsKey = 'agenthub/hubs';

/** The capability that says the id of a hub. */
export const hubCapability = (id: string) => ({ experimental: { [hubsKey]: { id } } });

/** The ids that hubs make. Any other could be long, and would be in each item. */
const hubId = /^[a-z0-9]{1,64}$/;

/** The id of the hub with these capabilities; undefined if they are those of another server. */
export function hubIdOf({
  experimental,
}: {
  readonly [name: string]: unknown;
}): string | undefined {
  const said = isObject(experimental) ? experimental[hubsKey] : undefined;
  const id = isObject(said) ? said['id'] : undefined;
  return typeof id === 'string' && hubId.test(id) ? id : undefined;
}

/** Ids of the hubs that an item of a list came through, the nearest to its server first. `members`: of the item. */
export function hubsOf(item: Buffer, members: ReadonlyMap<string, Span>): readonly string[] {
  const hubs = valueOf(item, membersOf(item, members.get('_meta'))?.get(hubsKey));
  return Array.isArray(hubs) ? hubs.filter(id => typeof id === 'string') : [];
}

/** The item of a list with the ids of the hubs that it came through. */
export function withHubs(item: Buffer, hubs: readonly string[]): Buffer {
  const span = { start: 0, end: item.length };
  const members = membersOf(item, span);
  if (!members) return item;
  const ids = JSON.stringify(hubs);
  const metaSpan = members.get('_meta');
  const meta = membersOf(item, metaSpan);
  const edits =
    metaSpan && meta
      ? setMembers(metaSpan, meta, { [hubsKey]: ids })
      : setMembers(span, members, { _meta: `{${JSON.stringify(hubsKey)}:${ids}}` });
  return splice(item, edits);
}
