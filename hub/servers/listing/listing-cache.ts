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
  /** Its list: `tools`, `resources`, `resourceTemplates` or `prompts`. */
  readonly list: string;
  /** The name or URI; undefined for all nameless entries of a list together. */
  readonly name: string | undefined;
  /** Its faults, as sentences. */
  readonly why: readonly string[];
  /** MCP revisions whose schema refuses it. */
  readonly revisions: readonly string[];
};

type Needs = {
  readonly changed: (kind: ListKind) => void;
  /** Marks the items whose definitions are not accepted. */
  readonly mark?: (kind: ListKind, items: readonly Item[]) => readonly Item[];
  /** Called when other items than before are left out of a list. */
  readonly leftOut?: (misfits: readonly Misfit[]) => void;
};

/** The lists of a server, as last read; `first` until then. */
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
    /** The item of a list with this name or URI. Looks it up in an index of the list, which may have thousands of items. */
    find(kind: ListKind, key: string): Item | undefined {
      const items = listing[kind];
      let index = indexes.get(items);
      if (!index) indexes.set(items, (index = new Map(items.map(item => [item.key, item]))));
      return index.get(key);
    },
    /** Marks all items again, after other definitions were accepted. */
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
    /** Expiry on the monotonic clock, in milliseconds; 0 if the server set none. */
    freshUntil: (kind: ListKind) => (readings.get(kind) ?? emptyReading).freshUntil,
    scope: (kind: ListKind) => (readings.get(kind) ?? emptyReading).scope,
    misfits: (): readonly Misfit[] => [...misfits.values()].flat(),
  };
}

/** The item with its faults; a file that was edited by hand may hold items that are not JSON. */
function checked(kind: ListKind, item: Item): Item {
  try {
    return withFaults(kind, item);
  } catch {
    return item; // Forwarded unchecked.
  }
}

/** The items of a list that are left out for some clients, and its nameless entries. */
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

/** Maximum number of misfits named per server; the others are counted. */
const maxNamed = 100;

/** The misfits for the API and the log. */
export const leftOutOf = (misfits: readonly Misfit[]) => ({
  left_out: misfits.slice(0, maxNamed).map(({ list, name, why, revisions }) => ({
    list,
    ...(name !== undefined && { name }),
    why: [...why],
    revisions: [...revisions],
  })),
  ...(misfits.length > maxNamed && { left_out_besides: misfits.length - maxNamed }),
});

/** A misfit as text, such as `tools "x": description is null; it must be a string`. */
export const describeMisfit = ({ list, name, why }: Misfit): string =>
  `${list}${name === undefined ? '' : ` ${JSON.stringify(name)}`}: ${why.join(', ')}`;
