import { type Owner, isSameClient } from './caller.ts';

/** Something that belongs to a client, among others like it. */
export type Owned = { readonly owner: Owner };

/** Where something stands among the others. Whoever added it removes it by this. */
export type Place<T extends Owned> = {
  readonly value: T;
  before: Place<T> | undefined;
  after: Place<T> | undefined;
};

/** What belongs to clients, the oldest first. Whether all of it is of one is known without a search. */
export interface ByOwner<T extends Owned> {
  readonly size: number;
  readonly newest: T | undefined;
  /** True where not all that is there is of one client. */
  readonly isOfSeveral: boolean;
  add(value: T): Place<T>;
  /** To be called once. */
  remove(place: Place<T>): void;
}

/**
 * A chain in which neighbours of different clients are counted: none of them means that all are of one.
 * A count by owner would need a Map whose keys come and go with each call (see `createSlotMap`).
 */
export function createByOwner<T extends Owned>(): ByOwner<T> {
  let newest: Place<T> | undefined;
  let size = 0;
  let differing = 0;

  /** 1 where the two are neighbours of different clients. */
  const differ = (a: Place<T> | undefined, b: Place<T> | undefined): number =>
    a && b && !isSameClient(a.value.owner, b.value.owner) ? 1 : 0;

  return {
    get size() {
      return size;
    },
    get newest() {
      return newest?.value;
    },
    get isOfSeveral() {
      return differing > 0;
    },
    add(value) {
      const place: Place<T> = { value, before: newest, after: undefined };
      if (newest) newest.after = place;
      differing += differ(newest, place);
      newest = place;
      size++;
      return place;
    },
    remove(place) {
      const { before, after } = place;
      differing += differ(before, after) - differ(before, place) - differ(place, after);
      if (before) before.after = after;
      if (after) after.before = before;
      else newest = before;
      // One that is gone must not keep alive those that came after it.
      place.before = undefined;
      place.after = undefined;
      size--;
    },
  };
}
