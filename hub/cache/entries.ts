import type { Clock } from '#core';
import type { KeepOptions } from './exact-cache.ts';

/** What is kept under a key. */
export type Entry = {
  readonly key: string;
  readonly value: string;
  readonly tag: string;
  /** Those of key and value in UTF-8. */
  readonly bytes: number;
  /** Monotonic, as `expiresAt`. */
  readonly createdAt: number;
  readonly expiresAt: number;
};

/** Entries in the order of their use, never more than the bounds allow. */
export interface Entries {
  readonly size: number;
  readonly bytes: number;
  readonly evictions: number;
  /** What is kept under a key, which is the last one used from now on. */
  use(key: string): Entry | undefined;
  /** What is kept under a key, without a use of it. */
  find(key: string): Entry | undefined;
  /** Keeps a value in place of what is there. One that is larger than the bound is not kept. */
  put(key: string, value: string, options: KeepOptions): void;
  /** Forgets what has a tag, or all; how many those were. */
  forget(tag?: string): number;
  /** Takes out what has expired. */
  sweep(): void;
}

export type EntriesOptions = { readonly maxEntries: number; readonly maxBytes: number };

/** An entry between the one used before it and the one used after it. */
type Linked = Entry & { older: Linked | undefined; newer: Linked | undefined };

/** No entries as yet. A use moves four references and no entry of a Map: that would have it rebuilt. */
export function createEntries(options: EntriesOptions, clock: Pick<Clock, 'monotonic'>): Entries {
  const byKey = new Map<string, Linked>();
  let oldest: Linked | undefined;
  let newest: Linked | undefined;
  let bytes = 0;
  let evictions = 0;
  /** No entry expires before. */
  let nextExpiry = Infinity;

  function append(entry: Linked): void {
    entry.older = newest;
    if (newest) newest.newer = entry;
    else oldest = entry;
    newest = entry;
  }

  function unlink(entry: Linked): void {
    if (entry.older) entry.older.newer = entry.newer;
    else oldest = entry.newer;
    if (entry.newer) entry.newer.older = entry.older;
    else newest = entry.older;
    entry.older = undefined;
    entry.newer = undefined;
  }

  function remove(entry: Linked): void {
    unlink(entry);
    byKey.delete(entry.key);
    bytes -= entry.bytes;
  }

  function find(key: string): Linked | undefined {
    const entry = byKey.get(key);
    if (!entry || clock.monotonic() < entry.expiresAt) return entry;
    remove(entry);
    return undefined;
  }

  function sweep(): void {
    const now = clock.monotonic();
    if (now < nextExpiry) return;
    nextExpiry = Infinity;
    for (const entry of byKey.values())
      if (entry.expiresAt <= now) remove(entry);
      else nextExpiry = Math.min(nextExpiry, entry.expiresAt);
  }

  return {
    get size() {
      return byKey.size;
    },
    get bytes() {
      return bytes;
    },
    get evictions() {
      return evictions;
    },
    use(key) {
      const entry = find(key);
      if (entry && entry !== newest) {
        unlink(entry);
        append(entry);
      }
      return entry;
    },
    find,
    put(key, value, { tag, ttlMs }) {
      sweep();
      const before = byKey.get(key);
      if (before) remove(before);
      const own = Buffer.byteLength(key) + Buffer.byteLength(value);
      if (own > options.maxBytes) return;
      const createdAt = clock.monotonic();
      const expiresAt = createdAt + ttlMs;
      const entry: Linked = {
        key,
        value,
        tag,
        bytes: own,
        createdAt,
        expiresAt,
        older: undefined,
        newer: undefined,
      };
      append(entry);
      byKey.set(key, entry);
      bytes += own;
      nextExpiry = Math.min(nextExpiry, expiresAt);
      while (oldest && (byKey.size > options.maxEntries || bytes > options.maxBytes)) {
        remove(oldest);
        evictions++;
      }
    },
    forget(tag) {
      sweep();
      const found = [...byKey.values()].filter(entry => tag === undefined || entry.tag === tag);
      for (const entry of found) remove(entry);
      return found.length;
    },
    sweep,
  };
}

/** Whether a value can be kept so that the same one is found: UTF-8 has no halves of surrogate pairs. */
export function isKeepable(value: string, { ttlMs }: KeepOptions): boolean {
  return ttlMs >= 1 && value.isWellFormed();
}
