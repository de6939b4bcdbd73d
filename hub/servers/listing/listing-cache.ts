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
  /** What of it is left out for some clients. */
  readonly misfits: () => readonly Misfit[];
};

export type OffersNeeds = {
  /** Hears of each list that differs from what it was, or is announced. */
  readonly changed: (kind: ListKind) => void;
  /** Hears of what is left out of a list, when that is not what it was. */
  readonly leftOut?: (misfits: readonly Misfit[]) => void;
};

/** Begins with what `first` says. */
export function createOffers(first: Listing, { changed, leftOut }: OffersNeeds): Offers {
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

/** The item with its faults; without them where it is no JSON, as in a file that the hub did not write. */
function checked(kind: ListKind, item: Item): Item {
  try {
    return withFaults(kind, item);
  } catch {
    return item;
  }
}
