import { LRUCache } from 'lru-cache';
import type { Clock } from '#core';
import type { KeepOptions } from './exact-cache.ts';

/** A cached value. Times are monotonic. */
export type Entry = {
  readonly value: string;
  readonly tag: string;
  readonly createdAt: number;
  readonly expiresAt: number;
};

export type EntriesOptions = { readonly maxEntries: number; readonly maxBytes: number };

/**
 * Entries in the order of their use, within bounds. Expiry is handled here, because that of the package reads the time
 * itself or starts timers.
 */
export function createEntries(
  { maxEntries, maxBytes }: EntriesOptions,
  clock: Pick<Clock, 'monotonic'>,
) {
  let evictions = 0;
  /** Earliest expiry of all entries. */
  let nextExpiry = Infinity;
  const entries = new LRUCache<string, Entry>({
    max: maxEntries,
    maxSize: maxBytes,
    // At least 1, which the package demands.
    sizeCalculation: ({ value }, key) =>
      Math.max(1, Buffer.byteLength(key) + Buffer.byteLength(value)),
    dispose(_entry, _key, reason) {
      if (reason === 'evict') evictions++;
    },
  });

  function unexpired(key: string, entry: Entry | undefined): Entry | undefined {
    if (!entry || clock.monotonic() < entry.expiresAt) return entry;
    entries.delete(key);
    return undefined;
  }

  function removeIf(isRemoved: (entry: Entry) => boolean): number {
    const removed = Array.from(entries.entries()).filter(([, entry]) => isRemoved(entry));
    for (const [key] of removed) entries.delete(key);
    return removed.length;
  }

  function sweep(): void {
    const now = clock.monotonic();
    if (now < nextExpiry) return;
    nextExpiry = Infinity;
    removeIf(({ expiresAt }) => {
      if (expiresAt > now) nextExpiry = Math.min(nextExpiry, expiresAt);
      return expiresAt <= now;
    });
  }

  return {
    get size() {
      return entries.size;
    },
    /** Bytes of keys and values in UTF-8. */
    get bytes() {
      return entries.calculatedSize;
    },
    get evictions() {
      return evictions;
    },
    /** The entry of a key, as its latest use. */
    use: (key: string) => unexpired(key, entries.get(key)),
    /** The entry of a key, without a use. */
    find: (key: string) => unexpired(key, entries.peek(key)),
    /** Replaces the entry of a key. A value larger than the bound is not kept. */
    put(key: string, value: string, { tag, ttlMs }: KeepOptions): void {
      sweep();
      const createdAt = clock.monotonic();
      const expiresAt = createdAt + ttlMs;
      entries.set(key, { value, tag, createdAt, expiresAt });
      nextExpiry = Math.min(nextExpiry, expiresAt);
    },
    /** Removes the entries of a tag, or all; returns their number. */
    forget(tag?: string): number {
      sweep();
      return removeIf(entry => tag === undefined || entry.tag === tag);
    },
    /** Removes expired entries. */
    sweep,
  };
}

/** Whether UTF-8 gives the same value back, which it does not for half of a surrogate pair. */
export function isKeepable(value: string, { ttlMs }: KeepOptions): boolean {
  return ttlMs >= 1 && value.isWellFormed();
}
