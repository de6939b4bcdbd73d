/** A place in a line. */
export type Place<T> = {
  readonly value: T;
  next: Place<T> | undefined;
  previous: Place<T> | undefined;
};

/** Values one behind the other, any of which can leave at the cost of one. */
export interface Line<T> {
  readonly first: Place<T> | undefined;
  readonly last: Place<T> | undefined;
  append(value: T): Place<T>;
  /** Takes out a place of this line, once. */
  remove(place: Place<T>): void;
}

/** A line with nobody in it. */
export function createLine<T>(): Line<T> {
  let first: Place<T> | undefined;
  let last: Place<T> | undefined;
  return {
    get first() {
      return first;
    },
    get last() {
      return last;
    },
    append(value) {
      const place: Place<T> = { value, next: undefined, previous: last };
      if (last) last.next = place;
      else first = place;
      last = place;
      return place;
    },
    remove({ previous, next }) {
      if (previous) previous.next = next;
      else first = next;
      if (next) next.previous = previous;
      else last = previous;
    },
  };
}
