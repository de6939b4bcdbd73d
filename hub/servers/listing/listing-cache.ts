import { isDeepStrictEqual } from 'node:util';
import {
  type CacheScope,
  type Item,
  type ListKind,
  type Listing,
  type Reading,
  emptyReading,
  listKinds,
  sameItems,
  withFaults,
} from './listing.ts';
import { type Misfit, misfitsOf } from './misfits.ts';

/** The lists of a server, as last read. */
export type ListingCache = {
  readonly listing: Listing;
  /** `isAnnounced`: calls `changed` even if the list is the same. */
  readonly replace: (kind: ListKind, reading: Reading, isAnnounced?: boolean) => void;
  /** Replaces all lists by those of an earlier run. */
  readonly show: (listing: Listing) => void;
  /** Expiry on the monotonic clock, in milliseconds; 0 if the server set none. */
  readonly freshUntil: (kind: ListKind) => number;
  readonly scope: (kind: ListKind) => CacheScope;
  /** Items that are left out for some clients. */
  readonly misfits: () => readonly Misfit[];
};

export type ListingCacheNeeds = {
  /** Called for each list that has changed, or was announced. */
  readonly changed: (kind: ListKind) => void;
  /** Called when other items than before are left out of a list. */
  readonly leftOut?: (misfits: readonly Misfit[]) => void;
};

/** A cache that holds `first`. */
export function createListingCache(
  first: Listing,
  { changed, leftOut }: ListingCacheNeeds,
): ListingCache {
  let listing = first;
  const readings = new Map<ListKind, Pick<Reading, 'freshUntil' | 'scope'>>();
  const misfits = new Map<ListKind, readonly Misfit[]>();

  function noteMisfits(kind: ListKind, { items, nameless }: Reading): void {
    const before = misfits.get(kind) ?? [];
    const now = misfitsOf(kind, items, nameless);
    misfits.set(kind, now);
    if (now.length > 0 && !isDeepStrictEqual(before, now)) leftOut?.(now);
  }

  function replace(kind: ListKind, reading: Reading, isAnnounced = false): void {
    const { items, freshUntil, scope } = reading;
    readings.set(kind, { freshUntil, scope });
    noteMisfits(kind, reading);
    const isSame = sameItems(listing[kind], items);
    if (!isSame) listing = { ...listing, [kind]: items };
    if (!isSame || isAnnounced) changed(kind);
  }

  return {
    get listing() {
      return listing;
    },
    replace,
    show(other) {
      for (const kind of listKinds)
        replace(kind, { ...emptyReading, items: other[kind].map(item => checked(kind, item)) });
    },
    freshUntil: kind => (readings.get(kind) ?? emptyReading).freshUntil,
    scope: kind => (readings.get(kind) ?? emptyReading).scope,
    misfits: () => [...misfits.values()].flat(),
  };
}

/** The item with its faults; a file that was edited by hand may hold items that are not JSON. */
function checked(kind: ListKind, item: Item): Item {
  try {
    return withFaults(kind, item);
  } catch {
    // Forwarded unchecked.
    return item;
  }
}
