import type { Part } from '#core';

/** What a fill gives. */
export type Filled = {
  readonly value: string;
  /** False where the value is for those who wait for it now, and for nobody after them. */
  readonly isKept: boolean;
};

/** Makes the value of a key. Its signal is aborted once nobody waits for the value any more. */
export type Fill = (signal: AbortSignal) => Promise<Filled>;

/** A value, and where it is from. */
export type Found = {
  readonly value: string;
  /** `filled` by this call, or `joined` to the fill of another one, here or in another hub. */
  readonly from: 'hit' | 'filled' | 'joined';
  /** Since when the value is kept, in milliseconds; 0 unless it was. */
  readonly ageMs: number;
};

/** How long what is filled is kept, and with what else it is forgotten. */
export type KeepOptions = {
  readonly tag: string;
  /** What is to be kept for less than a millisecond is not kept. */
  readonly ttlMs: number;
  /** False for a value that another program may have put there: it is removed, and filled anew. All are read unless given. */
  readonly isReadable?: (value: string) => boolean;
};

/** Whether a cache can be reached. The one in memory always can. */
export type CacheStatus = {
  readonly kind: 'up' | 'down';
  /** Since when, in milliseconds since the epoch. */
  readonly since: number;
  /** Why it is down, or what last went wrong while it is up. */
  readonly error?: string;
};

/** What a cache holds, and what it has done. Where hubs share one, the figures are of all of them. */
export type CacheStats = {
  readonly backend: 'memory' | 'redis';
  readonly status: CacheStatus;
  readonly entries: number;
  /** Those of keys and values in UTF-8. */
  readonly bytes: number;
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly hits: number;
  /** Calls that filled. */
  readonly misses: number;
  /** Calls that were given what another call filled. */
  readonly joined: number;
  /** Entries that were forgotten because others needed their place. */
  readonly evictions: number;
  /** Questions to which the cache gave no answer, or none in time. */
  readonly errors: number;
};

/**
 * Answers by exact key, bounded by entries and bytes: what was not used for longest goes first. A cache
 * out of reach is a miss and never an error. Keys are what `cacheKey` gives.
 */
export interface ExactCache extends Part {
  /**
   * What is kept under a key, which is used by this: at once where it is in memory, else as soon as it is told.
   * Undefined where nothing is, or where nobody can tell in time. It never rejects.
   */
  hit(key: string): Found | undefined | Promise<Found | undefined>;
  /**
   * The value of a key, or what `fill` gives: once at a time for a key, in all hubs that share the cache. A
   * fill that fails fails those who have joined it in this hub; another hub then fills for itself. Rejects
   * with what `fill` rejects with, with the reason of `signal`, or with `HUB_SHUTTING_DOWN`.
   */
  getOrFill(key: string, options: KeepOptions, fill: Fill, signal: AbortSignal): Promise<Found>;
  /**
   * The value of a key, which does not count as a use of it; undefined where none is kept. Rejects with
   * HUB_CACHE_UNREACHABLE where the cache does not say.
   */
  peek(key: string): Promise<{ readonly value: string; readonly ageMs: number } | undefined>;
  /**
   * Forgets what has a tag, or all; resolves with how many entries that were. What is being filled is
   * given to those who wait, but not kept. Where the cache is out of reach it resolves with 0, finds none of
   * it any more, and forgets it as soon as it can.
   */
  forget(tag?: string): Promise<number>;
  /** Whether what has a tag, or anything, was to be forgotten and is still there. What is in memory never is. */
  isOwed?(tag?: string): boolean;
  stats(): Promise<CacheStats>;
}
