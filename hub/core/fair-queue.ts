import { createKeyedSlotMap } from './slot-map.ts';

/** A queue in which owners take turns: an entry never waits behind all entries of another owner. */
export type FairQueue<T> = ReturnType<typeof createFairQueue<T>>;

type Owner<T> = { readonly key: string; readonly entries: List<T>; length: number };

export function createFairQueue<T>() {
  /** Owners of waiting entries. The first is the next in turn. */
  const turns = createList<Owner<T>>();
  const nodes = createKeyedSlotMap<ListNode<Owner<T>>>();
  let length = 0;
  /** The owner of the entry taken last. An owner that is new to the queue is inserted before it. */
  let lastKey: string | undefined;

  function remove(owner: Owner<T>, entry: ListNode<T>): void {
    if (!owner.entries.remove(entry)) return;
    owner.length -= 1;
    length -= 1;
    if (!owner.entries.first) endTurn(owner);
  }

  /** Moves an owner behind all others, or removes it if it has no more entries. */
  function endTurn(owner: Owner<T>): void {
    const node = nodes.get(owner.key);
    if (node) turns.remove(node);
    if (owner.entries.first) nodes.set(owner.key, turns.append(owner));
    else nodes.delete(owner.key);
  }

  return {
    get length() {
      return length;
    },
    /** Appends an entry. Returns a function that removes it, unless it was taken already. */
    append(key: string, value: T): () => void {
      let node = nodes.get(key);
      if (!node) {
        const last = turns.last?.value.key === lastKey ? turns.last : undefined;
        node = turns.append({ key, entries: createList(), length: 0 }, last);
        nodes.set(key, node);
      }
      const owner = node.value;
      const entry = owner.entries.append(value);
      owner.length += 1;
      length += 1;
      return () => remove(owner, entry);
    },
    /** Removes the next entry in turn and returns it; undefined if the queue is empty. */
    take(): T | undefined {
      const owner = turns.first?.value;
      const entry = owner?.entries.first;
      if (!owner || !entry) return undefined;
      remove(owner, entry);
      if (owner.entries.first) endTurn(owner);
      lastKey = owner.key;
      return entry.value;
    },
    /**
     * Returns the newest entry of the owner with the most entries, which a full queue drops for a new entry of `key`.
     * Undefined if `key` would then have as many entries as that owner: all owners get equal shares.
     */
    newestOfLongest(key: string): T | undefined {
      const own = nodes.get(key)?.value.length ?? 0;
      let longest: Owner<T> | undefined;
      for (let node = turns.first; node; node = node.next)
        if (node.value.length > (longest?.length ?? 0)) longest = node.value;
      return longest && longest.length > own + 1 ? longest.entries.last?.value : undefined;
    },
  };
}

type ListNode<T> = {
  readonly value: T;
  next: ListNode<T> | undefined;
  previous: ListNode<T> | undefined;
  isIn: boolean;
};

type List<T> = ReturnType<typeof createList<T>>;

/** Creates a doubly linked list, from which any entry is removed in constant time. */
function createList<T>() {
  let first: ListNode<T> | undefined;
  let last: ListNode<T> | undefined;
  return {
    get first() {
      return first;
    },
    get last() {
      return last;
    },
    /** Appends an entry, or inserts it before `next`. */
    append(value: T, next?: ListNode<T>): ListNode<T> {
      const previous = next ? next.previous : last;
      const node: ListNode<T> = { value, next, previous, isIn: true };
      if (previous) previous.next = node;
      else first = node;
      if (next) next.previous = node;
      else last = node;
      return node;
    },
    /** Removes a node of this list. Returns false if it was removed before. */
    remove(node: ListNode<T>): boolean {
      const { previous, next, isIn } = node;
      if (!isIn) return false;
      node.isIn = false;
      if (previous) previous.next = next;
      else first = next;
      if (next) next.previous = previous;
      else last = previous;
      return true;
    },
  };
}
