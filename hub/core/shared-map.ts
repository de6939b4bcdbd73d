/**
 * Creates a bounded map in which an owner has at most `maxPerOwner` entries. A new entry of an owner with that many
 * replaces the owner's oldest entry; above `max`, the oldest entry of all is removed.
 */
export function createSharedMap<Value>(max: number, maxPerOwner: number) {
  const entries = new Map<string, { readonly value: Value; readonly owner: string }>();
  /** The keys of each owner, the oldest first. */
  const keys = new Map<string, Set<string>>();

  function remove(key: string): boolean {
    const owner = entries.get(key)?.owner;
    if (owner === undefined) return false;
    const own = keys.get(owner);
    own?.delete(key);
    if (own?.size === 0) keys.delete(owner);
    return entries.delete(key);
  }

  return {
    get size() {
      return entries.size;
    },
    get: (key: string): Value | undefined => entries.get(key)?.value,
    /** Returns all values, the oldest first. */
    values: (): readonly Value[] => Array.from(entries.values(), ({ value }) => value),
    /** Returns the values of an owner, the oldest first. */
    valuesOf: (owner: string): readonly Value[] =>
      Array.from(keys.get(owner) ?? []).flatMap(key => entries.get(key)?.value ?? []),
    /** Returns the number of entries of an owner. */
    countOf: (owner: string): number => keys.get(owner)?.size ?? 0,
    /** Sets an entry as the newest. */
    set(key: string, value: Value, owner: string): void {
      remove(key);
      const [oldestOwn] = keys.get(owner) ?? [];
      if (oldestOwn !== undefined && (keys.get(owner)?.size ?? 0) >= maxPerOwner) remove(oldestOwn);
      const [oldest] = entries.keys();
      if (oldest !== undefined && entries.size >= max) remove(oldest);
      entries.set(key, { value, owner });
      keys.set(owner, (keys.get(owner) ?? new Set()).add(key));
    },
    /** Removes an entry. Returns false if it does not exist. */
    remove,
  };
}
