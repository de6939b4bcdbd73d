import { isObject } from '#core';
import { type Span, membersOf, splice, valueOf } from '#jsonrpc';
import { metaEdits } from './metadata.ts';

/**
 * Key of the ids of hubs in capabilities and in `_meta`. Hubs may be servers of each other, also in a circle. So each
 * hub declares its id in its capabilities. A hub that lists the items of another hub adds that hub's id to `_meta` of
 * each item, and leaves out items that came through itself.
 */
const hubsKey = 'agenthub/hubs';

/** Returns the capability that declares the id of a hub. */
export const hubCapability = (id: string) => ({ experimental: { [hubsKey]: { id } } });

/** Matches the ids that hubs create. Other ids are ignored: they could be long, and would be in each item. */
const hubId = /^[a-z0-9]{1,64}$/;

/** Returns the id of the hub with these capabilities; undefined if the server is not a hub. */
export function hubIdOf({
  experimental,
}: {
  readonly [name: string]: unknown;
}): string | undefined {
  const said = isObject(experimental) ? experimental[hubsKey] : undefined;
  const id = isObject(said) ? said['id'] : undefined;
  return typeof id === 'string' && hubId.test(id) ? id : undefined;
}

/**
 * Returns the ids of the hubs that a list item came through, the nearest to its server first. `members`: of the item.
 */
export function hubsOf(item: Buffer, members: ReadonlyMap<string, Span>): readonly string[] {
  const hubs = valueOf(item, membersOf(item, members.get('_meta'))?.get(hubsKey));
  return Array.isArray(hubs) ? hubs.filter(id => typeof id === 'string') : [];
}

/** Returns a list item with the ids of the hubs that it came through. */
export function withHubs(item: Buffer, hubs: readonly string[]): Buffer {
  const span = { start: 0, end: item.length };
  const members = membersOf(item, span);
  if (!members) return item;
  const meta = membersOf(item, members.get('_meta'));
  const ids = { [hubsKey]: JSON.stringify(hubs) };
  return splice(item, metaEdits({ bytes: item, params: span }, members, meta, ids));
}
