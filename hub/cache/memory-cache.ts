import type { Clock } from '#core';
import { type EntriesOptions, createEntries, isKeepable } from './entries.ts';
import type { ExactCache, Found } from './exact-cache.ts';
import { createTaggedFlights } from './single-flight.ts';

/** A cache of one hub, empty after a restart. A hit starts no timer and waits for no turn of the event loop. */
export function createMemoryCache(
  options: EntriesOptions,
  needs: { readonly clock: Pick<Clock, 'now' | 'monotonic'> },
): ExactCache {
  const { clock } = needs;
  const { maxEntries, maxBytes } = options;
  const entries = createEntries(options, clock);
  const counted = { hits: 0, misses: 0, joined: 0 };
  const singleFlight = createTaggedFlights(() => counted.joined++);
  const since = clock.now();
  const ageMs = (createdAt: number) => Math.floor(clock.monotonic() - createdAt);

  function hit(key: string): Found | undefined {
    const entry = entries.use(key);
    if (!entry) return undefined;
    counted.hits++;
    return { value: entry.value, from: 'hit', ageMs: ageMs(entry.createdAt) };
  }

  return {
    name: 'cache',
    start: async () => {},
    stop: async () => singleFlight.stop(),
    hit,
    getOrFill(key, keep, fill, signal) {
      const found = signal.aborted ? undefined : hit(key);
      if (found) return Promise.resolve(found);
      return singleFlight.join(key, keep.tag, signal, async flight => {
        counted.misses++;
        const { value, isKept } = await fill(flight.signal);
        const isWanted = isKept && !flight.isForgotten && !flight.signal.aborted;
        if (isWanted && isKeepable(value, keep)) entries.put(key, value, keep);
        return { value, from: 'filled', ageMs: 0 };
      });
    },
    async peek(key) {
      const entry = entries.find(key);
      return entry && { value: entry.value, ageMs: ageMs(entry.createdAt) };
    },
    async forget(tag) {
      singleFlight.forget(tag);
      return entries.forget(tag);
    },
    async stats() {
      entries.sweep();
      const { size, bytes, evictions } = entries;
      const status = { kind: 'up', since } as const;
      return {
        backend: 'memory',
        status,
        entries: size,
        bytes,
        maxEntries,
        maxBytes,
        ...counted,
        evictions,
        errors: 0,
      };
    },
  };
}
