import { LRUCache } from 'lru-cache';
import type { Clock } from '#core';
import type { KeepOptions } from './exact-cache.ts';

/** A value with what is known of it. Times are monotonic. */
export type Entry = {
  readonly value: string;
  readonly tag: string;
  readonly createdAt: number;
  readonly expiresAt: number;
};

/** Entries in the order of their use, never more than the bounds allow. */
export interface Entries {
  readonly size: number;
  /** Bytes of keys and values in UTF-8. */
  readonly bytes: number;
  readonly evictions: number;
  /** The entry of a key, as its latest use. */
  use(key: string): Entry | undefined;
  /** The entry of a key, without a use. */
  find(key: string): Entry | undefined;
  /** Replaces the entry of a key. A value larger than the bound is not kept. */
  put(key: string, value: string, options: KeepOptions): void;
  /** Removes the entries of a tag, or all; returns their number. */
  forget(tag?: string): number;
  /** Removes expired entries. */
  sweep(): void;
}

export type EntriesOptions = { readonly maxEntries: number; readonly maxBytes: number };

/** Expiry stays here: that of the package reads the time itself, or starts timers. */
export function createEntries(
  { maxEntries, maxBytes }: EntriesOptions,
  clock: Pick<Clock, 'monotonic'>,
): Entries {
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
    get bytes() {
      return entries.calculatedSize;
    },
    get evictions() {
      return evictions;
    },
    use: key => unexpired(key, entries.get(key)),
    find: key => unexpired(key, entries.peek(key)),
    put(key, value, { tag, ttlMs }) {
      sweep();
      const createdAt = clock.monotonic();
      const expiresAt = createdAt + ttlMs;
      entries.set(key, { value, tag, createdAt, expiresAt });
      nextExpiry = Math.min(nextExpiry, expiresAt);
    },
    forget(tag) {
      sweep();
      return removeIf(entry => tag === undefined || entry.tag === tag);
    },
    sweep,
  };
}

/** Whether UTF-8 gives the same value back, which it does not for half of a surrogate pair. */
export function isKeepable(value: string, { ttlMs }: KeepOptions): boolean {
  return ttlMs >= 1 && value.isWellFormed();
}
