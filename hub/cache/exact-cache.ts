import type { Service } from '#core';

type FilledValue = {
  readonly value: string;
  /** False if the value is only for the calls that wait for it now, and is not stored. */
  readonly isKept: boolean;
};

/** Computes the value of a key. `signal` is aborted when no call waits for the value any more. */
export type Fill = (signal: AbortSignal) => Promise<FilledValue>;

export type Found = {
  readonly value: string;
  /** `hit`: found in the cache. `filled`: computed for this call. `joined`: computed for another call of this hub. */
  readonly from: 'hit' | 'filled' | 'joined';
  /** Age of the entry in milliseconds; 0 for a new value. */
  readonly ageMs: number;
};

export type KeepOptions = {
  readonly tag: string;
  /** Time to live in ms. A value with less than one millisecond is not stored. */
  readonly ttlMs: number;
  /** Returns false for a value that this program cannot read; it is computed again. Default: all are readable. */
  readonly isReadable?: (value: string) => boolean;
  /** If true, an entry is replaced instead of returned, and not counted. Set it if the value is already computed. */
  readonly replaces?: boolean;
};

/** Whether a cache can be reached. A cache in memory is always up. */
export type CacheStatus = {
  readonly kind: 'up' | 'down';
  /** Time since which `kind` is unchanged, in milliseconds since the epoch. */
  readonly since: number;
  /** Reason why the cache is down, or the last error while it is up. */
  readonly error?: string;
};

/** Statistics of a cache. For a cache that hubs share, they are the totals of all hubs. */
export type CacheStats = {
  readonly backend: 'memory' | 'redis';
  readonly status: CacheStatus;
  readonly entries: number;
  /** Size of all keys and values in bytes of UTF-8. */
  readonly bytes: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly hits: number;
  readonly misses: number;
  /** Number of calls that got a value that was computed for another call. */
  readonly joined: number;
  readonly evictions: number;
  /** Number of requests that the cache answered late or not at all. */
  readonly errors: number;
};

/**
 * Cache of values by exact key (`cacheKey`). Its entries and bytes are limited: the least recently used entry is
 * evicted first. If the cache cannot be reached, every call is a miss and none fails.
 */
export interface ExactCache extends Service {
  /**
   * Finds an entry, and marks it as used. A cache in memory returns it without a promise. Undefined if there is no
   * entry, or no answer in time. Never rejects.
   */
  hit(key: string): Found | undefined | Promise<Found | undefined>;
  /**
   * Finds an entry, or computes it with `fill`, once at a time for each key of this hub; other hubs compute it
   * themselves. If `fill` fails, all calls that wait for it fail. Rejects with the error of `fill`, with the reason of
   * `signal`, or with `HUB_SHUTTING_DOWN`.
   */
  getOrFill(key: string, options: KeepOptions, fill: Fill, signal: AbortSignal): Promise<Found>;
  /**
   * Finds an entry without marking it as used; undefined if there is none. Rejects with HUB_CACHE_UNREACHABLE if the
   * cache does not answer.
   */
  peek(key: string): Promise<{ readonly value: string; readonly ageMs: number } | undefined>;
  /**
   * Removes the entries of a tag, or all entries; resolves with their number. Values that are being computed are
   * returned to the calls that wait, but not stored. If the cache cannot be reached, resolves with 0: this hub no
   * longer returns the entries, and removes them as soon as it can.
   */
  forget(tag?: string): Promise<number>;
  /** True if entries of a tag, or of any tag, still have to be removed. Absent for a cache in memory. */
  isForgetPending?(tag?: string): boolean;
  stats(): Promise<CacheStats>;
}

/** True if a value can be stored: UTF-8 cannot represent a lone surrogate. */
export const isKeepable = (value: string, { ttlMs }: KeepOptions): boolean =>
  ttlMs >= 1 && value.isWellFormed();

/** Returns the key of the single flight. A replacement must not join another fill, whose value may be a cached one. */
export const flightOf = (key: string, { replaces }: KeepOptions): string =>
  replaces ? `replacing ${key}` : key;
