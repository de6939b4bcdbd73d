import { isDeepStrictEqual } from 'node:util';
import { refusingRevisions } from './item-faults.ts';
import {
  type Item,
  type ListKind,
  type Listing,
  type Reading,
  emptyReading,
  listKinds,
  listMethods,
  sameItems,
  withFaults,
} from './listing.ts';

/** An item that the lists on `/mcp` leave out for clients of some revisions. */
export type Misfit = {
  /** The list that contains the item: `tools`, `resources`, `resourceTemplates` or `prompts`. */
  readonly list: string;
  /** The name or URI of the item; undefined for all nameless entries of a list together. */
  readonly name: string | undefined;
  /** The schema violations of the item, as sentences. */
  readonly why: readonly string[];
  /** MCP revisions whose schema refuses the item. */
  readonly revisions: readonly string[];
};

type Needs = {
  readonly changed: (kind: ListKind) => void;
  /** Marks the items whose definitions are not accepted. */
  readonly mark?: (kind: ListKind, items: readonly Item[]) => readonly Item[];
  /** Called when the items that are left out of a list have changed. */
  readonly leftOut?: (misfits: readonly Misfit[]) => void;
};

/** Creates the cache of the lists of a server. It has those of `first` until the server is read. */
export function createListingCache(
  first: Listing,
  { changed, leftOut, mark = (_, items) => items }: Needs,
) {
  let listing = first;
  const readings = new Map<ListKind, Pick<Reading, 'freshUntil' | 'scope'>>();
  const misfits = new Map<ListKind, readonly Misfit[]>();
  const indexes = new WeakMap<readonly Item[], ReadonlyMap<string, Item>>();

  function noteMisfits(kind: ListKind, reading: Reading): void {
    const before = misfits.get(kind) ?? [];
    const now = misfitsOf(kind, reading);
    misfits.set(kind, now);
    if (now.length > 0 && !isDeepStrictEqual(before, now)) leftOut?.(now);
  }

  /** Replaces a list. Calls `changed` if it differs, or in any case if `isAnnounced`. */
  function replace(kind: ListKind, reading: Reading, isAnnounced = false): void {
    const { freshUntil, scope } = reading;
    const items = mark(kind, reading.items);
    readings.set(kind, { freshUntil, scope });
    noteMisfits(kind, reading);
    const isSame = sameItems(listing[kind], items);
    if (!isSame) listing = { ...listing, [kind]: items };
    if (!isSame || isAnnounced) changed(kind);
  }

  return {
    get listing(): Listing {
      return listing;
    },
    replace,
    /** Returns the item of a list with this name or URI. Uses an index, as a list may have thousands of items. */
    find(kind: ListKind, key: string): Item | undefined {
      const items = listing[kind];
      let index = indexes.get(items);
      if (!index) indexes.set(items, (index = new Map(items.map(item => [item.key, item]))));
      return index.get(key);
    },
    /** Marks all items again, after the accepted definitions have changed. */
    remark(): void {
      for (const kind of listKinds) {
        const items = mark(kind, listing[kind]);
        if (sameItems(listing[kind], items)) continue;
        listing = { ...listing, [kind]: items };
        changed(kind);
      }
    },
    show(other: Listing): void {
      for (const kind of listKinds)
        replace(kind, { ...emptyReading, items: other[kind].map(item => checked(kind, item)) });
    },
    /** Time when the list expires, on the monotonic clock in milliseconds; 0 if the server set no TTL. */
    freshUntil: (kind: ListKind) => (readings.get(kind) ?? emptyReading).freshUntil,
    scope: (kind: ListKind) => (readings.get(kind) ?? emptyReading).scope,
    misfits: (): readonly Misfit[] => [...misfits.values()].flat(),
  };
}

/** Adds an item's faults. A saved file that was edited by hand may contain items that are not JSON. */
function checked(kind: ListKind, item: Item): Item {
  try {
    return withFaults(kind, item);
  } catch {
    return item; // The item is forwarded unchecked.
  }
}

/** Returns the items of a list that are left out for some clients, and one entry for all nameless items. */
function misfitsOf(kind: ListKind, { items, nameless }: Reading): readonly Misfit[] {
  const { member: list, key } = listMethods[kind];
  const misfits: Misfit[] = [];
  for (const { key: name, faults } of items)
    if (faults) {
      const why = faults.map(({ text }) => text);
      misfits.push({ list, name, why, revisions: refusingRevisions(faults) });
    }
  if (nameless > 0) {
    const why = [`${nameless} ${nameless === 1 ? 'has' : 'have'} no ${key}`];
    misfits.push({ list, name: undefined, why, revisions: refusingRevisions('all') });
  }
  return misfits;
}

/** Maximum number of misfits named per server; the number of the others is shown. */
const maxNamed = 100;

/** Returns the items that are left out of lists, for the API and the log. */
export const leftOutOf = (misfits: readonly Misfit[]) => ({
  left_out: misfits.slice(0, maxNamed).map(({ list, name, why, revisions }) => ({
    list,
    ...(name !== undefined && { name }),
    why: [...why],
    revisions: [...revisions],
  })),
  ...(misfits.length > maxNamed && { left_out_besides: misfits.length - maxNamed }),
});

/** Describes an item that is left out, such as `tools "x": description is null; it must be a string`. */
export const describeMisfit = ({ list, name, why }: Misfit): string =>
  `${list}${name === undefined ? '' : ` ${JSON.stringify(name)}`}: ${why.join(', ')}`;
