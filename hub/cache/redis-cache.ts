import { type Clock, type Log, HubError } from '#core';
import type { CacheStatus, ExactCache } from './exact-cache.ts';
import { createFlights } from './flights.ts';
import { createReach } from './reach.ts';
import { createRedisFlight } from './redis-flight.ts';
import { createForgetting } from './redis-forgetting.ts';
import { createRedisHits } from './redis-hits.ts';
import { createNews, parseNews } from './redis-news.ts';
import { finishScript, keyNames, peekScript } from './redis-scripts.ts';
import { createTally } from './redis-tally.ts';

export type RedisCacheOptions = {
  /** Such as redis://user:password@host:6379/0. A Redis Cluster is not supported. */
  readonly url: string;
  readonly maxEntries: number;
  readonly maxBytes: number;
  /** What the names of all keys in Redis begin with. Caches of one prefix are one cache. */
  readonly prefix: string;
  /** A call waits no longer for an answer of Redis; 25 ms unless given. */
  readonly reachMs?: number;
  /** A connection on which an answer takes longer is taken for broken; 1 s unless given. */
  readonly answerMs?: number;
  /** The longest wait between two attempts to connect; 2 s unless given. */
  readonly maxRetryMs?: number;
  /** After this time others take over from a hub that has died while it filled; 2 s unless given. */
  readonly lockMs?: number;
  /** So often who waits for another hub looks by itself, should it not be told; 250 ms unless given. */
  readonly pollMs?: number;
};

type Needs = {
  readonly clock: Clock;
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Never the same, in no hub. */
  readonly newId: () => string;
};

/** Grows with the layout of what is kept: caches of different layouts do not meet. */
const layout = '2:';

/**
 * A cache that hubs share through Redis. `redis-scripts.ts` says what is there and how it is kept in order.
 *
 * One hub fills a key: it has a lock, which it renews. Others wait until they are told on a channel, the
 * lock has run out, or the connection is lost; then they look again, and one of them fills. Where Redis
 * gives no answer in time, a hub fills without a lock, and keeps nothing.
 */
export function createRedisCache(options: RedisCacheOptions, needs: Needs): ExactCache {
  const { maxEntries, maxBytes, lockMs = 2_000, pollMs = 250 } = options;
  const { reachMs = 25, answerMs = 1_000, maxRetryMs = 2_000 } = options;
  const { clock, log } = needs;
  const prefix = `${options.prefix}${layout}`;
  const channel = `${prefix}news`;
  const keys = keyNames.map(name => `${prefix}${name}`);
  const news = createNews(clock);
  let status: CacheStatus = { kind: 'down', since: clock.now(), error: 'not connected yet' };
  let logged: CacheStatus['kind'] | undefined;
  /** What was asked when the error of the status was found, as `Reach` calls it; undefined where any answer in time ends it. */
  let failing: string | undefined;
  let opening: Promise<void> | undefined;

  const reach = createReach(
    { url: options.url, channel, keys, reachMs, answerMs, maxRetryMs },
    {
      clock,
      random: needs.random,
      up() {
        become('up');
        // What is owed goes first on the connection: nothing finds it any more.
        void forgetting.pay();
        void tally.tell();
      },
      down(reason) {
        become('down', reason);
        hits.lost();
        news.fire({ kind: 'lost' });
      },
      heard(message) {
        const said = parseNews(message);
        if (said) news.fire(said);
      },
      failed,
      answered(asked, what) {
        if (status.kind === 'down' || !('error' in status)) return;
        const isWell = failing === undefined || (failing === asked && what !== 'full');
        if (isWell) status = { kind: 'up', since: status.since };
      },
    },
  );
  const tally = createTally(reach, clock);
  const hits = createRedisHits({ clock, reach, tally });
  const forgetting = createForgetting(reach, channel, clock);
  const flights = createFlights(({ from }) => {
    tally.count(from === 'hit' ? 'hits' : 'joined');
    tally.tellSoon();
  });
  news.event(said => {
    if (said.kind === 'forgot') flights.forget(said.tag);
  });
  const fly = createRedisFlight(
    { maxEntries, maxBytes, channel, lockMs, pollMs },
    {
      clock,
      newId: needs.newId,
      reach,
      news,
      tally,
      forgetting,
      refused: why => failed(why, finishScript),
    },
  );

  function failed(error: string, asked?: string): void {
    tally.count('errors');
    failing = asked;
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

  return {
    name: 'cache',
    async start() {
      // Nothing waits for it: until there is a connection, all is a miss.
      opening = reach.open();
    },
    async stop() {
      flights.stop();
      forgetting.stop();
      await opening;
      await tally.tellAll();
      await reach.close();
    },
    hit: key => (reach.isAsked && !forgetting.isOwed() ? hits.find(key) : undefined),
    getOrFill: (key, keep, fill, signal) =>
      flights.board(key, keep.tag, signal, flight => fly(key, keep, fill, flight)),
    async peek(key) {
      if (forgetting.isOwed()) return undefined;
      // No prompt waits for it: an answer that is late is one.
      const answer = await reach.tell(peekScript, [key]).atLast;
      if (!answer)
        throw new HubError(
          'HUB_CACHE_UNREACHABLE',
          `it is not known whether an equal prompt is kept: Redis did not answer${'error' in status ? ` (${status.error})` : ''}. Try again when it does`,
          { data: { retryable: true } },
        );
      const [what, value = '', age] = answer;
      return what === 'hit' ? { value, ageMs: Number(age) } : undefined;
    },
    forget(tag) {
      flights.forget(tag);
      return forgetting.forget(tag);
    },
    isOwed: tag => forgetting.isOwed(tag),
    async stats() {
      const figures = await tally.figures();
      return { backend: 'redis', status, ...figures, maxEntries, maxBytes };
    },
  };
}
