import type { Service } from '#core';

type FilledValue = {
  readonly value: string;
  /** False if only the calls that wait now get the value. */
  readonly isKept: boolean;
};

/** Makes the value of a key. Its signal is aborted once no call waits for the value. */
export type Fill = (signal: AbortSignal) => Promise<FilledValue>;

export type Found = {
  readonly value: string;
  /** `filled` by this call, or `joined`: filled by another call of this hub. */
  readonly from: 'hit' | 'filled' | 'joined';
  /** Time in the cache in milliseconds; 0 for a new value. */
  readonly ageMs: number;
};

export type KeepOptions = {
  readonly tag: string;
  /** A value with less than one millisecond is not kept. */
  readonly ttlMs: number;
  /** False for the value of another program, which is filled anew; default: every value is readable. */
  readonly isReadable?: (value: string) => boolean;
  /** True: an entry is replaced instead of found, and nothing is counted. The fill should have its value already. */
  readonly replaces?: boolean;
};

/** Whether a cache can be reached. The one in memory is always up. */
export type CacheStatus = {
  readonly kind: 'up' | 'down';
  /** Time of the last change in milliseconds since the epoch. */
  readonly since: number;
  /** Why it is down, or the last error while it is up. */
  readonly error?: string;
};

/** Statistics of a cache; those of a shared one are of all hubs together. */
export type CacheStats = {
  readonly backend: 'memory' | 'redis';
  readonly status: CacheStatus;
  readonly entries: number;
  /** Bytes of keys and values in UTF-8. */
  readonly bytes: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly hits: number;
  readonly misses: number;
  /** Calls that got the value of another call's fill. */
  readonly joined: number;
  readonly evictions: number;
  /** Questions that the cache answered late or not at all. */
  readonly errors: number;
};

/**
 * Values by exact key (`cacheKey`), bounded by entries and bytes: the least recently used entry goes first. A
 * cache out of reach is a miss and never an error.
 */
export interface ExactCache extends Service {
  /**
   * Finds an entry, as its latest use; without a promise if the cache is in memory. Undefined if there is none, or
   * no answer in time. Never rejects.
   */
  hit(key: string): Found | undefined | Promise<Found | undefined>;
  /**
   * Finds an entry, or fills it: one fill at a time for a key in this hub; other hubs fill for themselves. A fill that
   * fails also fails the calls that joined it. Rejects with the error of `fill`, with the reason of `signal`, or with
   * `HUB_SHUTTING_DOWN`.
   */
  getOrFill(key: string, options: KeepOptions, fill: Fill, signal: AbortSignal): Promise<Found>;
  /**
   * Finds an entry without a use; undefined if there is none. Rejects with HUB_CACHE_UNREACHABLE if the cache does
   * not answer.
   */
  peek(key: string): Promise<{ readonly value: string; readonly ageMs: number } | undefined>;
  /**
   * Removes the entries of a tag, or all; resolves with their number. Fills under way are given to the calls that
   * wait, but not kept. If the cache is out of reach, resolves with 0: this hub finds none of the entries
   * from then on, and removes them as soon as it can.
   */
  forget(tag?: string): Promise<number>;
  /** Whether entries of a tag, or any, still have to be removed. Never so in memory. */
  isForgetPending?(tag?: string): boolean;
  stats(): Promise<CacheStats>;
}

/** Whether UTF-8 gives the same value back, which it does not for half of a surrogate pair. */
export const isKeepable = (value: string, { ttlMs }: KeepOptions): boolean =>
  ttlMs >= 1 && value.isWellFormed();

/** Key of the single flight: a replacement does not join the fill of another call, whose value may be of a cache. */
export const flightOf = (key: string, { replaces }: KeepOptions): string =>
  replaces ? `replacing ${key}` : key;
