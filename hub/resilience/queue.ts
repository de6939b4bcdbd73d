/** An entry of a queue. */
export type QueueNode<T> = {
  readonly value: T;
  next: QueueNode<T> | undefined;
  previous: QueueNode<T> | undefined;
};

/** A queue with removal of any entry in constant time: a doubly linked list. */
export interface Queue<T> {
  readonly first: QueueNode<T> | undefined;
  readonly last: QueueNode<T> | undefined;
  append(value: T): QueueNode<T>;
  /** Removes an entry of this queue. Call it once. */
  remove(node: QueueNode<T>): void;
}

export function createQueue<T>(): Queue<T> {
  let first: QueueNode<T> | undefined;
  let last: QueueNode<T> | undefined;
  return {
    get first() {
      return first;
    },
    get last() {
      return last;
    },
    append(value) {
      const node: QueueNode<T> = { value, next: undefined, previous: last };
      if (last) last.next = node;
      else first = node;
      last = node;
      return node;
    },
    remove({ previous, next }) {
      if (previous) previous.next = next;
      else first = next;
      if (next) next.previous = previous;
      else last = previous;
    },
  };
}
