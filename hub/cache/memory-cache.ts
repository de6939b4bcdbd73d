import { LRUCache } from 'lru-cache';
import type { Clock } from '#core';
import { type ExactCache, type Found, flightOf, isKeepable } from './exact-cache.ts';
import { createTaggedFlights } from './single-flight.ts';

/** A cached value. Times are in monotonic ms. */
type CachedValue = {
  readonly value: string;
  readonly tag: string;
  readonly createdAt: number;
  readonly expiresAt: number;
};

/**
 * Creates a cache for one hub, which is empty after a restart. A hit needs no timer and no turn of the event loop.
 * Expiry is checked here, because the lru-cache package returns entries in the last millisecond of their lifetime.
 */
export function createMemoryCache(
  { maxEntries, maxBytes }: { readonly maxEntries: number; readonly maxBytes: number },
  { clock }: { readonly clock: Pick<Clock, 'now' | 'monotonic'> },
): ExactCache {
  const counted = { hits: 0, misses: 0, joined: 0, evictions: 0 };
  const singleFlight = createTaggedFlights(() => counted.joined++);
  const status = { kind: 'up', since: clock.now() } as const;
  const entries = new LRUCache<string, CachedValue>({
    max: maxEntries,
    maxSize: maxBytes,
    // At least 1, because the lru-cache package rejects a size of 0.
    sizeCalculation: ({ value }, key) =>
      Math.max(1, Buffer.byteLength(key) + Buffer.byteLength(value)),
    dispose(_entry, _key, reason) {
      if (reason === 'evict') counted.evictions++;
    },
  });

  /** Earliest expiry of all entries, in monotonic ms. No scan is necessary before it. */
  let nextExpiry = Infinity;

  const isExpired = ({ expiresAt }: CachedValue) => expiresAt <= clock.monotonic();
  const ageOf = ({ createdAt }: CachedValue) => Math.floor(clock.monotonic() - createdAt);

  function removeIf(isRemoved: (entry: CachedValue) => boolean): number {
    const removed = Array.from(entries.entries()).filter(([, entry]) => isRemoved(entry));
    for (const [key] of removed) entries.delete(key);
    return removed.length;
  }

  function removeExpired(): void {
    const now = clock.monotonic();
    if (now < nextExpiry) return;
    nextExpiry = Infinity;
    removeIf(({ expiresAt }) => {
      if (expiresAt > now) nextExpiry = Math.min(nextExpiry, expiresAt);
      return expiresAt <= now;
    });
  }

  function hit(key: string): Found | undefined {
    const entry = entries.get(key);
    if (!entry || isExpired(entry)) return undefined;
    counted.hits++;
    return { value: entry.value, from: 'hit', ageMs: ageOf(entry) };
  }

  return {
    start: async () => {},
    stop: async () => singleFlight.stop(),
    hit,
    getOrFill(key, keep, fill, signal) {
      const found = signal.aborted || keep.replaces ? undefined : hit(key);
      if (found) return Promise.resolve(found);
      return singleFlight.join(flightOf(key, keep), keep.tag, signal, async (ended, flight) => {
        if (!keep.replaces) counted.misses++;
        const { value, isKept } = await fill(ended);
        const isWanted = isKept && !flight.isForgotten && !ended.aborted;
        if (isWanted && isKeepable(value, keep)) {
          // Remove expired entries first, so that no other entry is evicted for the new one.
          removeExpired();
          const createdAt = clock.monotonic();
          const expiresAt = createdAt + keep.ttlMs;
          entries.set(key, { value, tag: keep.tag, createdAt, expiresAt });
          nextExpiry = Math.min(nextExpiry, expiresAt);
        }
        return { value, from: 'filled', ageMs: 0 };
      });
    },
    async peek(key) {
      const entry = entries.peek(key);
      return entry && !isExpired(entry) ? { value: entry.value, ageMs: ageOf(entry) } : undefined;
    },
    async forget(tag) {
      singleFlight.forget(tag);
      removeExpired();
      return removeIf(entry => tag === undefined || entry.tag === tag);
    },
    async stats() {
      removeExpired();
      const { size, calculatedSize: bytes } = entries;
      return {
        backend: 'memory',
        status,
        entries: size,
        bytes,
        maxEntries,
        maxBytes,
        ...counted,
        errors: 0,
      };
    },
  };
}
