/** A slot map with string keys: the subset of `Map` that pending requests need. */
export type KeyedSlotMap<T> = ReturnType<typeof createKeyedSlotMap<T>>;

const minSlots = 16;

/**
 * Creates a map for short-lived values that assigns the keys itself: increasing numbers after `after`, which are never
 * reused. It is backed by two arrays instead of a `Map`. A `Map` copies itself to a new table after a number of
 * deletions, and V8 links each old table to its successor. Once one table reaches the old generation, it keeps all
 * later tables and their dead values alive. Under load this cost a third of the hub's CPU time and tripled the heap.
 */
export function createSlotMap<T>(after = 0) {
  /** Number of the value in each slot; 0 for a free slot. A number is stored in slot `number % slots`. */
  let numbers: number[] = [];
  let values: (T | undefined)[] = [];
  let size = 0;
  let last = after;

  /** Numbers in different slots stay in different slots when the slot count doubles, so no two collide. */
  function resize(slots: number): void {
    const [oldNumbers, oldValues] = [numbers, values];
    numbers = Array.from({ length: slots }, () => 0);
    values = Array.from({ length: slots }, () => undefined);
    oldNumbers.forEach((number, at) => {
      if (number === 0) return;
      numbers[number % slots] = number;
      values[number % slots] = oldValues[at];
    });
  }
  resize(minSlots);

  return {
    get size() {
      return size;
    },
    /** Stores a value and returns its number, which is greater than all numbers before it. */
    add(value: T): number {
      if (2 * size >= numbers.length) resize(2 * numbers.length);
      // Skip numbers whose slot is still occupied.
      do last++;
      while (numbers[last % numbers.length] !== 0);
      const at = last % numbers.length;
      numbers[at] = last;
      values[at] = value;
      size++;
      return last;
    },
    /** Returns the value with this number, or undefined. Accepts any number, NaN included. */
    find(number: number): T | undefined {
      const at = number % numbers.length;
      return numbers[at] === number ? values[at] : undefined;
    },
    /** Removes the value with this number and returns it; undefined if it is not in the map. */
    take(number: number): T | undefined {
      const at = number % numbers.length;
      if (number === 0 || numbers[at] !== number) return undefined;
      const value = values[at];
      numbers[at] = 0;
      values[at] = undefined;
      size--;
      return value;
    },
    /** Returns all entries, oldest first. A copy: entries may be removed during iteration. */
    entries(): readonly (readonly [number, T])[] {
      const found: (readonly [number, T])[] = [];
      values.forEach((value, at) => {
        if (value !== undefined) found.push([numbers[at] ?? 0, value]);
      });
      return found.toSorted(([a], [b]) => a - b);
    },
  };
}

/**
 * Creates a slot map with string keys. Its inner `Map` contains only numbers, so V8's old tables keep no values alive.
 */
export function createKeyedSlotMap<T>() {
  const numbers = new Map<string, number>();
  const values = createSlotMap<T>();
  const remove = (key: string) => {
    values.take(numbers.get(key) ?? 0);
    return numbers.delete(key);
  };
  return {
    get size() {
      return values.size;
    },
    get: (key: string) => values.find(numbers.get(key) ?? 0),
    has: (key: string) => numbers.has(key),
    set(key: string, value: T): void {
      remove(key);
      numbers.set(key, values.add(value));
    },
    delete: remove,
    /** Returns all values, oldest first. A copy: entries may be deleted during iteration. */
    values: (): readonly T[] => values.entries().map(([, value]) => value),
  };
}
