import { HubError, isObject, tryParseJson } from '#core';
import type { RedisNeeds } from '#redis';
import {
  type ExactCache,
  type Fill,
  type Found,
  type KeepOptions,
  flightOf,
  isKeepable,
} from './exact-cache.ts';
import { type RedisCacheOptions, createRedisClient } from './redis-client.ts';
import { createRedisIndex } from './redis-index.ts';
import { findScript, indexScript, readEntry, removeScript, valueName } from './redis-scripts.ts';
import { type Flight, createTaggedFlights } from './single-flight.ts';

const defaultReachMs = 25;
/** Maximum lifetime of an entry, in ms: 365 days. Lua represents numbers of this size exactly. */
const maxTtlMs = 31_536_000_000;

/** Version of the layout, a part of the prefix of all keys: hubs with different layouts do not share a cache. */
const layout = '3:';
/** Keys of layout 2, which this version no longer reads. */
const olderKeys = ['values', 'facts', 'recency', 'expiry', 'tags', 'locks', 'counters'].map(
  name => `2:${name}`,
);

/**
 * Creates a cache that hubs share through Redis; `redis-scripts.ts` describes the layout. Each hub computes the value
 * of a key once at a time; two hubs may compute the same key. If Redis does not answer in time, a hub computes the
 * value and does not store it.
 */
export function createRedisCache(
  options: RedisCacheOptions,
  needs: Omit<RedisNeeds, 'newId'>,
): ExactCache {
  const { maxEntries, maxBytes, reachMs = defaultReachMs } = options;
  const { log } = needs;
  const prefix = `${options.prefix}${layout}`;
  const channel = `${prefix}news`;
  let opening: Promise<void> | undefined;
  let isOlderRemoved = false;

  const client = createRedisClient(
    { ...options, reachMs, prefix, channel },
    {
      ...needs,
      up() {
        // Sent first on the new connection: later requests must not find entries that are to be removed.
        void index.forgetPending();
        index.apply({});
        void removeOlder();
      },
      down: () => index.forgetEpoch(),
      heard(message) {
        const forgotten = parseForgotten(message);
        if (!forgotten) return;
        singleFlight.forget(forgotten.tag);
        index.forgetEpoch();
      },
      failed: () => index.count('errors'),
    },
  );
  const index = createRedisIndex(client, channel, needs.clock);
  const singleFlight = createTaggedFlights(({ from }) => {
    index.count(from === 'hit' ? 'hits' : 'joined');
    index.applySoon();
  });

  async function removeOlder(): Promise<void> {
    if (isOlderRemoved) return;
    const names = olderKeys.map(name => `${options.prefix}${name}`);
    const [removed] = (await client.tellOnce(removeScript, names)) ?? [];
    isOlderRemoved ||= removed !== undefined;
    if (Number(removed) > 0) log.info({}, 'removed the exact cache of an older version from Redis');
  }

  async function hit(key: string): Promise<Found | undefined> {
    const { epoch } = index;
    if (epoch === undefined) return undefined;
    const reading = client.read(valueName(prefix, epoch, key));
    // Marked before the answer arrives, so that a fill that ends meanwhile does not evict the entry.
    index.use(key);
    const value = await reading;
    // A forget during the read is announced before the answer, and has reset the epoch.
    const isCurrent = value !== undefined && index.epoch === epoch;
    const entry = isCurrent ? readEntry(value, index.redisTime()) : undefined;
    if (!entry) return undefined;
    index.count('hits');
    index.applySoon();
    return { ...entry, from: 'hit' };
  }

  async function findOrFill(
    key: string,
    keep: KeepOptions,
    fill: Fill,
    signal: AbortSignal,
    flight: Readonly<Flight>,
  ): Promise<Found> {
    const tag = JSON.stringify(keep.tag);
    /** Undefined until Redis answers, which may be too late for the lookup. Until then, the value is not stored. */
    let generation: string | undefined;
    if (!index.isForgetPending(keep.tag)) {
      index.use(key);
      const lookup = client.ask(findScript, [key, tag]);
      void lookup.atLast.then(answer => (generation = answer?.[0]));
      const [, text, time] = (await lookup.inTime()) ?? [];
      signal.throwIfAborted();
      const entry = text === undefined ? undefined : readEntry(text, Number(time));
      if (entry && !keep.replaces && keep.isReadable?.(entry.value) !== false) {
        index.count('hits');
        return { ...entry, from: 'hit' };
      }
    }
    if (!keep.replaces) {
      index.count('misses');
      index.applySoon();
    }
    const { value, isKept } = await fill(signal);
    const isWanted = isKept && !flight.isForgotten && !signal.aborted;
    if (generation !== undefined && isWanted && isKeepable(value, keep)) {
      const ttlMs = Math.min(Math.floor(keep.ttlMs), maxTtlMs);
      const put = { key, tag, generation, ttlMs, maxEntries, maxBytes };
      const answer = await index.apply({ put }, value).inTime();
      if (answer?.refusal !== undefined) client.refused(answer.refusal, indexScript);
    }
    return { value, from: 'filled', ageMs: 0 };
  }

  return {
    async start() {
      // Not awaited: without a connection, every call is a miss.
      opening = client.open();
    },
    async stop() {
      singleFlight.stop();
      await opening;
      await index.stop();
      await client.close();
    },
    hit: key => (client.isAsked && !index.isForgetPending() ? hit(key) : undefined),
    getOrFill: (key, keep, fill, signal) =>
      singleFlight.join(flightOf(key, keep), keep.tag, signal, (ended, flight) =>
        findOrFill(key, keep, fill, ended, flight),
      ),
    async peek(key) {
      if (index.isForgetPending()) return undefined;
      // Accepts a late answer, because no prompt waits for it.
      const answer = await client.tell(findScript, [key, '']).atLast;
      const { error } = client.status;
      if (!answer)
        throw new HubError(
          'HUB_CACHE_UNREACHABLE',
          `it is not known whether an equal prompt is kept: Redis did not answer${error === undefined ? '' : ` (${error})`}. Try again when it does`,
          { data: { retryable: true } },
        );
      const [, text, time] = answer;
      return text === undefined ? undefined : readEntry(text, Number(time));
    },
    forget(tag) {
      singleFlight.forget(tag);
      return index.forget(tag);
    },
    isForgetPending: tag => index.isForgetPending(tag),
    async stats() {
      const figures = await index.figures();
      return { backend: 'redis', status: client.status, ...figures, maxEntries, maxBytes };
    },
  };
}

/**
 * Parses the message that announces a forget; undefined if invalid, because other programs may publish on the channel.
 * An undefined `tag` means all entries.
 */
export function parseForgotten(message: string): { readonly tag: string | undefined } | undefined {
  const value = tryParseJson(message);
  const forgot = isObject(value) ? value['forgot'] : undefined;
  if (forgot === '') return { tag: undefined };
  const tag = typeof forgot === 'string' ? tryParseJson(forgot) : undefined;
  return typeof tag === 'string' ? { tag } : undefined;
}
