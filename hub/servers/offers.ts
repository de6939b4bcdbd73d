import {
  type CacheScope,
  type ListKind,
  type Listing,
  type Reading,
  emptyReading,
  listKinds,
  sameItems,
} from './listing.ts';

/** What a server offers, as it was last read. */
export type Offers = {
  readonly listing: Listing;
  /** `isAnnounced`: `changed` hears of the list even where it is what it was. */
  readonly replace: (kind: ListKind, reading: Reading, isAnnounced?: boolean) => void;
  /** Has it offer what another reading of it once gave, of which it may say something else by now. */
  readonly show: (listing: Listing) => void;
  /** In milliseconds since the epoch; 0 where the server says nothing about it. */
  readonly freshUntil: (kind: ListKind) => number;
  readonly scope: (kind: ListKind) => CacheScope;
};

/** Begins with what `first` says. `changed` hears of each list that differs from what it was, or is announced. */
export function createOffers(first: Listing, changed: (kind: ListKind) => void): Offers {
  let listing = first;
  const readings = new Map<ListKind, Pick<Reading, 'freshUntil' | 'scope'>>();

  function replace(
    kind: ListKind,
    { items, freshUntil, scope }: Reading,
    isAnnounced = false,
  ): void {
    readings.set(kind, { freshUntil, scope });
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
      for (const kind of listKinds) replace(kind, { ...emptyReading, items: other[kind] });
    },
    freshUntil: kind => (readings.get(kind) ?? emptyReading).freshUntil,
    scope: kind => (readings.get(kind) ?? emptyReading).scope,
  };
}
