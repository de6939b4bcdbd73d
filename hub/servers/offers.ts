import {
  type CacheScope,
  type ListKind,
  type Listing,
  type Reading,
  emptyReading,
  sameItems,
} from './listing.ts';

/** What a server offers, as it was last read. */
export type Offers = {
  readonly listing: Listing;
  readonly replace: (kind: ListKind, reading: Reading) => void;
  /** In milliseconds since the epoch; 0 where the server says nothing about it. */
  readonly freshUntil: (kind: ListKind) => number;
  readonly scope: (kind: ListKind) => CacheScope;
};

/** Begins with what `first` says. `changed` hears of each list that differs from what it was. */
export function createOffers(first: Listing, changed: (kind: ListKind) => void): Offers {
  let listing = first;
  const readings = new Map<ListKind, Pick<Reading, 'freshUntil' | 'scope'>>();
  return {
    get listing() {
      return listing;
    },
    replace(kind, { items, freshUntil, scope }) {
      readings.set(kind, { freshUntil, scope });
      if (sameItems(listing[kind], items)) return;
      listing = { ...listing, [kind]: items };
      changed(kind);
    },
    freshUntil: kind => (readings.get(kind) ?? emptyReading).freshUntil,
    scope: kind => (readings.get(kind) ?? emptyReading).scope,
  };
}
