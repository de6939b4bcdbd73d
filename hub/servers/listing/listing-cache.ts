import { isDeepStrictEqual } from 'node:util';
import {
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

export type ListingCache = ReturnType<typeof createListingCache>;

export type ListingCacheNeeds = {
  /** Called for each list that has changed, or was announced. */
  readonly changed: (kind: ListKind) => void;
  /** Called when other items than before are left out of a list. */
  readonly leftOut?: (misfits: readonly Misfit[]) => void;
};

/** The lists of a server, as last read; `first` until then. */
export function createListingCache(first: Listing, { changed, leftOut }: ListingCacheNeeds) {
  let listing = first;
  const readings = new Map<ListKind, Pick<Reading, 'freshUntil' | 'scope'>>();
  const misfits = new Map<ListKind, readonly Misfit[]>();

  function noteMisfits(kind: ListKind, { items, nameless }: Reading): void {
    const before = misfits.get(kind) ?? [];
    const now = misfitsOf(kind, items, nameless);
    misfits.set(kind, now);
    if (now.length > 0 && !isDeepStrictEqual(before, now)) leftOut?.(now);
  }

  /** `isAnnounced`: calls `changed` even if the list is the same. */
  function replace(kind: ListKind, reading: Reading, isAnnounced = false): void {
    const { items, freshUntil, scope } = reading;
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
    /** Replaces all lists by those of an earlier run. */
    show(other: Listing): void {
      for (const kind of listKinds)
        replace(kind, { ...emptyReading, items: other[kind].map(item => checked(kind, item)) });
    },
    /** Expiry on the monotonic clock, in milliseconds; 0 if the server set none. */
    freshUntil: (kind: ListKind) => (readings.get(kind) ?? emptyReading).freshUntil,
    scope: (kind: ListKind) => (readings.get(kind) ?? emptyReading).scope,
    /** Items that are left out for some clients. */
    misfits: (): readonly Misfit[] => [...misfits.values()].flat(),
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
