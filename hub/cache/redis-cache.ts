import { HubError } from '#core';
import type { RedisNeeds } from '#redis';
import type { ExactCache, Found } from './exact-cache.ts';
import { type RedisCacheOptions, createRedisClient } from './redis-client.ts';
import { createRedisFill, parseMessage } from './redis-fill.ts';
import { createRedisIndex } from './redis-index.ts';
import { peekScript, readEntry, removeScript, valueName } from './redis-scripts.ts';
import { createTaggedFlights } from './single-flight.ts';

const defaults = { reachMs: 25, lockMs: 2_000, pollMs: 250 };

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
export function createRedisCache(options: RedisCacheOptions, needs: RedisNeeds): ExactCache {
  const { maxEntries, maxBytes } = options;
  const { log } = needs;
  const prefix = `${options.prefix}${layout}`;
  const channel = `${prefix}news`;
  const settings = { ...defaults, ...options, prefix, channel };
  let opening: Promise<void> | undefined;
  let isOlderRemoved = false;

  const client = createRedisClient(settings, {
    ...needs,
    up() {
      // Sent first on the connection: no later question finds an entry whose removal is pending.
      void index.forgetPending();
      index.apply({});
      void removeOlder();
    },
    down() {
      index.forgetEpoch();
      fills.hear({ kind: 'lost' });
    },
    heard(text) {
      const message = parseMessage(text);
      if (!message) return;
      if (message.kind === 'forgot') {
        singleFlight.forget(message.tag);
        index.forgetEpoch();
      }
      fills.hear(message);
    },
    failed: () => index.count('errors'),
  });
  const index = createRedisIndex(client, channel, needs.clock);
  const fills = createRedisFill(settings, { ...needs, client, index });
  const singleFlight = createTaggedFlights(({ from }) => {
    index.count(from === 'hit' ? 'hits' : 'joined');
    index.applySoon();
  });

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
      await opening;
      await index.stop();
      await client.close();
    },
    hit: key => (client.isAsked && !index.isForgetPending() ? hit(key) : undefined),
    getOrFill: (key, keep, fill, signal) =>
      singleFlight.join(key, keep.tag, signal, ended => fills.fillThrough(key, keep, fill, ended)),
    async peek(key) {
      if (index.isForgetPending()) return undefined;
      // No prompt waits for it: a late answer will do.
      const answer = await client.tell(peekScript, [key]).atLast;
      const { error } = client.status;
      if (!answer)
        throw new HubError(
          'HUB_CACHE_UNREACHABLE',
          `it is not known whether an equal prompt is kept: Redis did not answer${error === undefined ? '' : ` (${error})`}. Try again when it does`,
          { data: { retryable: true } },
        );
      const [what, text = '', time] = answer;
      return what === 'hit' ? readEntry(text, Number(time)) : undefined;
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
