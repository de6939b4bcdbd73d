import { type Clock, type Log, HubError } from '#core';
import type { CacheStatus, ExactCache, Found } from './exact-cache.ts';
import { createRedisClient } from './redis-client.ts';
import { readEntry } from './redis-entry.ts';
import { createRedisFill } from './redis-fill.ts';
import { createForgetting } from './redis-forgetting.ts';
import { createRedisIndex } from './redis-index.ts';
import { createNews, parseMessage } from './redis-news.ts';
import { indexScript, peekScript, removeScript, valueName } from './redis-scripts.ts';
import { createTaggedFlights } from './single-flight.ts';

export type RedisCacheOptions = {
  /** Such as redis://user:password@host:6379/0. A Redis Cluster is not supported. */
  readonly url: string;
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** The names of all keys in Redis begin with it. Caches of one prefix are one cache. */
  readonly prefix: string;
  /** The longest time that a call waits for an answer of Redis; default 25 ms. */
  readonly reachMs?: number;
  /** A connection on which an answer takes longer counts as broken; default 1 s. */
  readonly answerMs?: number;
  /** The longest wait between two attempts to connect; default 2 s. */
  readonly maxRetryMs?: number;
  /** Other hubs take over from a hub that died during a fill after this time; default 2 s. */
  readonly lockMs?: number;
  /** Interval at which a call that waits for another hub looks by itself; default 250 ms. */
  readonly pollMs?: number;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Unique among all hubs. */
  readonly newId: () => string;
};

/** Changes with the layout of the keys: caches of different layouts do not meet. */
const layout = '3:';
/** Keys of layout 2, which no hub of this version reads. */
const olderKeys = ['values', 'facts', 'recency', 'expiry', 'tags', 'locks', 'counters'].map(
  name => `2:${name}`,
);

/**
 * A cache that hubs share through Redis; `redis-scripts.ts` has the layout. One hub fills a key, under a lock
 * that it renews. The others wait until the channel tells them of the end, the lock has expired or the connection
 * is lost; then they look again, and one of them fills. If Redis does not answer in time, a hub fills without a
 * lock and keeps nothing.
 */
export function createRedisCache(options: RedisCacheOptions, needs: Needs): ExactCache {
  const { maxEntries, maxBytes, lockMs = 2_000, pollMs = 250 } = options;
  const { reachMs = 25, answerMs = 1_000, maxRetryMs = 2_000 } = options;
  const { clock, log, newId } = needs;
  const prefix = `${options.prefix}${layout}`;
  const channel = `${prefix}news`;
  const news = createNews(clock);
  let status: CacheStatus = { kind: 'down', since: clock.now(), error: 'not connected yet' };
  let logged: CacheStatus['kind'] | undefined;
  /** The script that caused the error of the status; undefined if any answer in time ends the error. */
  let failing: string | undefined;
  let opening: Promise<void> | undefined;
  let isOlderRemoved = false;

  const client = createRedisClient(
    { url: options.url, channel, prefix, reachMs, answerMs, maxRetryMs },
    {
      clock,
      random: needs.random,
      up() {
        become('up');
        // Sent first on the connection: no later question finds an entry whose removal is pending.
        void forgetting.retry();
        index.apply({});
        void removeOlder();
      },
      down(reason) {
        become('down', reason);
        index.forgetEpoch();
        news.fire({ kind: 'lost' });
      },
      heard(text) {
        const message = parseMessage(text);
        if (!message) return;
        if (message.kind === 'forgot') {
          singleFlight.forget(message.tag);
          index.forgetEpoch();
        }
        news.fire(message);
      },
      failed,
      answered(script, word) {
        if (status.kind === 'down' || !('error' in status)) return;
        const isRefusal = script === indexScript && word !== 'done';
        if (failing === undefined || (failing === script && !isRefusal))
          status = { kind: 'up', since: status.since };
      },
    },
  );
  const index = createRedisIndex(client, channel, clock);
  const forgetting = createForgetting(index, clock);
  const singleFlight = createTaggedFlights(({ from }) => {
    index.count(from === 'hit' ? 'hits' : 'joined');
    index.applySoon();
  });
  const fillThrough = createRedisFill(
    { maxEntries, maxBytes, lockMs, pollMs },
    {
      clock,
      newId,
      client,
      index,
      news,
      forgetting,
      refused: reason => failed(reason, indexScript),
    },
  );

  function failed(error: string, script?: string): void {
    index.count('errors');
    failing = script;
    if (status.kind === 'up') status = { ...status, error };
  }

  function become(kind: CacheStatus['kind'], error?: string): void {
    const since = status.kind === kind ? status.since : clock.now();
    status = error === undefined ? { kind, since } : { kind, since, error };
    if (logged === kind) return;
    logged = kind;
    if (kind === 'up') log.info({}, 'the exact cache is shared through Redis');
    else log.warn({ reason: error }, 'the exact cache is out of reach: Redis cannot be used');
  }

  async function removeOlder(): Promise<void> {
    if (isOlderRemoved) return;
    const names = olderKeys.map(name => `${options.prefix}${name}`);
    const [removed] = (await client.tell(removeScript, names).atLast) ?? [];
    isOlderRemoved ||= removed !== undefined;
    if (Number(removed) > 0) log.info({}, 'removed the exact cache of an older version from Redis');
  }

  async function hit(key: string): Promise<Found | undefined> {
    const { epoch } = index;
    if (epoch === undefined) return undefined;
    const reading = client.read(valueName(prefix, epoch, key));
    // Before the answer: a fill that ends now must find the entry used.
    index.use(key);
    const value = await reading;
    // A forget that began a new epoch was heard before the answer.
    const isCurrent = value !== undefined && index.epoch === epoch;
    const entry = isCurrent ? readEntry(value, index.redisTime()) : undefined;
    if (!entry) return undefined;
    index.count('hits');
    index.applySoon();
    return { ...entry, from: 'hit' };
  }

  return {
    name: 'cache',
    async start() {
      // No call waits for it: without a connection every call is a miss.
      opening = client.open();
    },
    async stop() {
      singleFlight.stop();
      forgetting.stop();
      await opening;
      await index.flush();
      await client.close();
    },
    hit: key => (client.isAsked && !forgetting.isForgetPending() ? hit(key) : undefined),
    getOrFill: (key, keep, fill, signal) =>
      singleFlight.join(key, keep.tag, signal, flight =>
        fillThrough(key, keep, fill, flight.signal),
      ),
    async peek(key) {
      if (forgetting.isForgetPending()) return undefined;
      // No prompt waits for it: a late answer will do.
      const answer = await client.tell(peekScript, [key]).atLast;
      if (!answer)
        throw new HubError(
          'HUB_CACHE_UNREACHABLE',
          `it is not known whether an equal prompt is kept: Redis did not answer${'error' in status ? ` (${status.error})` : ''}. Try again when it does`,
          { data: { retryable: true } },
        );
      const [what, text = '', time] = answer;
      return what === 'hit' ? readEntry(text, Number(time)) : undefined;
    },
    forget(tag) {
      singleFlight.forget(tag);
      return forgetting.forget(tag);
    },
    isForgetPending: tag => forgetting.isForgetPending(tag),
    async stats() {
      return { backend: 'redis', status, ...(await index.figures()), maxEntries, maxBytes };
    },
  };
}
