/** Values that come and go by the thousand, each under a number of its own. */
export interface Ledger<T> {
  readonly size: number;
  /** Enters a value. Its number is above all before it, and no other value ever has it. */
  add(value: T): number;
  /** The value under a number, while it is there. Any number may be asked for, NaN too. */
  find(number: number): T | undefined;
  /** Removes the value under a number and gives it back; undefined where it is gone already. */
  take(number: number): T | undefined;
  /** What is there, the oldest first. A copy: entries may be taken while one goes through it. */
  entries(): readonly (readonly [number, T])[];
}

/** As much of a Map as what is in flight needs, by text instead of by number. */
export type Register<T> = Pick<Map<string, T>, 'size' | 'get' | 'has' | 'delete'> & {
  set(key: string, value: T): void;
  /** The oldest first. A copy: entries may be deleted while one goes through it. */
  values(): readonly T[];
};

const leastSlots = 16;

/**
 * Two arrays in place of a Map. A Map copies itself into a new table after so many deletions, and V8 has
 * every old table point to its successor. Once one of them has left the young generation, so do all that
 * follow, with everything that was in them, dead as it is. Under load that took a third of the hub's
 * processor time, and let the heap grow to thrice its size. The first number comes `after` another one.
 */
export function createLedger<T>(after = 0): Ledger<T> {
  /** The number in a slot, 0 where it is free. A number has the slot that it leaves as a remainder. */
  let numbers: number[] = [];
  let values: (T | undefined)[] = [];
  let size = 0;
  let last = after;

  /** Numbers that differ in their remainders also differ in those by twice as much: none meet. */
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
  resize(leastSlots);

  return {
    get size() {
      return size;
    },
    add(value) {
      if (2 * size >= numbers.length) resize(2 * numbers.length);
      // Past those that have been there for a whole round.
      do last++;
      while (numbers[last % numbers.length] !== 0);
      const at = last % numbers.length;
      numbers[at] = last;
      values[at] = value;
      size++;
      return last;
    },
    find(number) {
      const at = number % numbers.length;
      return numbers[at] === number ? values[at] : undefined;
    },
    take(number) {
      const at = number % numbers.length;
      if (number === 0 || numbers[at] !== number) return undefined;
      const value = values[at];
      numbers[at] = 0;
      values[at] = undefined;
      size--;
      return value;
    },
    entries() {
      const found: (readonly [number, T])[] = [];
      values.forEach((value, at) => {
        if (value !== undefined) found.push([numbers[at] ?? 0, value]);
      });
      return found.toSorted(([a], [b]) => a - b);
    },
  };
}

/** A ledger by text. The Map in it holds numbers alone, so that its old tables keep nothing else. */
export function createRegister<T>(): Register<T> {
  const numbers = new Map<string, number>();
  const ledger = createLedger<T>();
  const remove = (key: string) => {
    ledger.take(numbers.get(key) ?? 0);
    return numbers.delete(key);
  };
  return {
    get size() {
      return ledger.size;
    },
    get: key => ledger.find(numbers.get(key) ?? 0),
    has: key => numbers.has(key),
    set(key, value) {
      remove(key);
      numbers.set(key, ledger.add(value));
    },
    delete: remove,
    values: () => ledger.entries().map(([, value]) => value),
  };
}
