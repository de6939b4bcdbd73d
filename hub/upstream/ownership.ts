import { type Owner, isSameClient } from './caller.ts';

/** A value that belongs to a client. */
export type Owned = { readonly owner: Owner };

/** A node of the linked list. `add` returns it and `remove` takes it. */
export type Place<T extends Owned> = {
  readonly value: T;
  before: Place<T> | undefined;
  after: Place<T> | undefined;
};

/** Values that belong to clients, oldest first. Tells in constant time whether all of them belong to one client. */
export interface ByOwner<T extends Owned> {
  readonly size: number;
  readonly newest: T | undefined;
  /** True if the values belong to more than one client. */
  readonly isOfSeveral: boolean;
  add(value: T): Place<T>;
  /** Call this once for each place. */
  remove(place: Place<T>): void;
}

/**
 * Creates a linked list that counts neighbours of different clients. If the count is zero, all values belong to one
 * client. A count by owner would need a Map whose keys come and go with each call (see `createSlotMap`).
 */
export function createByOwner<T extends Owned>(): ByOwner<T> {
  let newest: Place<T> | undefined;
  let size = 0;
  let differing = 0;

  /** Returns 1 if both exist and belong to different clients, otherwise 0. */
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
      // Unlink the removed place, so that it does not keep later places alive.
      place.before = undefined;
      place.after = undefined;
      size--;
    },
  };
}
