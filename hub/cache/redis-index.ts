import type { Clock } from '#core';
import type { RedisAnswer, RedisClient } from './redis-client.ts';
import { indexScript } from './redis-scripts.ts';

const noCounts = { hits: 0, misses: 0, joined: 0, errors: 0 };
type Counts = Readonly<typeof noCounts>;

/** What `indexScript` does besides counting; all fields are optional. Tags are JSON. */
type IndexChange = {
  /** A new entry, which is kept if its tag is still of the generation that `findScript` answered. */
  readonly put?: {
    readonly key: string;
    readonly tag: string;
    readonly generation: string;
    readonly ttlMs: number;
    readonly maxEntries: number;
    readonly maxBytes: number;
  };
  /** Removes a part of the entries with a tag, from a cursor on. An empty tag stands for all entries. */
  readonly forget?: { readonly tag: string; readonly cursor: string };
};

type IndexAnswer = {
  /** Why Redis took no writes; undefined if it took them. */
  readonly refusal: string | undefined;
  readonly forgotten: number;
  /** Where the next step of a forget goes on; `0` after the last step. */
  readonly cursor: string;
  /** Whether expired entries remain. */
  readonly isMore: boolean;
};

/**
 * Delay until Redis hears of hits. A fill of another hub that ends in this time may evict an entry that was used
 * in it.
 */
const soonMs = 20;
/** Redis hears at once of more used keys. */
const maxUses = 500;
/** Most runs of `flush`. */
const maxFlushes = 100;
/** The tag of a forget of all entries. */
const all = '';
/** If more tags are pending, all entries are removed. */
const maxPending = 100;
/** Delay until the next attempt after Redis refused a forget. */
const againMs = 1_000;

/**
 * The index of the shared cache. It tells Redis of counts and uses a few milliseconds later, many at once. While Redis
 * is away, removals stay pending until it is back.
 */
export function createRedisIndex(
  client: Pick<RedisClient, 'tell'>,
  channel: string,
  clock: Pick<Clock, 'after' | 'monotonic'>,
) {
  /** Counts that were not sent, and those whose answer is missing. */
  let unsent: Counts = noCounts;
  let sent: Counts = noCounts;
  /** In the order of their last use. */
  const uses = new Set<string>();
  let epoch: string | undefined;
  /** By how much the time of Redis was ahead of the monotonic time of this process. */
  let aheadMs = 0;
  let seen = { ...noCounts, entries: 0, bytes: 0, evictions: 0 };
  let soon: Disposable | undefined;
  /** Tags to forget, as JSON, or `all`. */
  const pending = new Set<string>();
  let again: Disposable | undefined;
  let isStopped = false;

  function apply(change: IndexChange, value = ''): RedisAnswer<IndexAnswer> {
    soon?.[Symbol.dispose]();
    soon = undefined;
    const sending = unsent;
    unsent = noCounts;
    sent = sum(sent, sending);
    const counts = Object.fromEntries(Object.entries(sending).filter(([, count]) => count > 0));
    const request = JSON.stringify({ counts, uses: [...uses], ...change });
    uses.clear();
    const { inTime, atLast } = client.tell(indexScript, [request, value, channel], isRefusal);
    const answer = atLast.then(words => {
      sent = sum(sent, sending, -1);
      if (!words || isRefusal(words)) unsent = sum(unsent, sending);
      return words && read(words);
    });
    return { inTime: async () => (await inTime()) && answer, atLast: answer };
  }

  function read(words: readonly string[]): IndexAnswer {
    const [status, at, time, forgotten, cursor = '0', more, ...figures] = words;
    const [entries = 0, bytes = 0, hits = 0, misses = 0, joined = 0, evictions = 0, errors = 0] =
      figures.map(Number);
    epoch = at || undefined;
    aheadMs = Number(time) - clock.monotonic();
    seen = { entries, bytes, hits, misses, joined, evictions, errors };
    const refusal = isRefusal(words) ? status : undefined;
    return { refusal, forgotten: Number(forgotten), cursor, isMore: more === 'more' };
  }

  function applySoon(): void {
    soon ??= clock.after(soonMs, () => void apply({}));
  }

  async function forgetTag(tag: string): Promise<number> {
    let forgotten = 0;
    for (let cursor = '0'; ;) {
      const answer = await apply({ forget: { tag, cursor } }).atLast;
      if (!answer) {
        pending.add(pending.size < maxPending ? tag : all);
        // A Redis that refuses keeps its connection, so that no reconnection starts the next attempt.
        if (!isStopped) again ??= clock.after(againMs, () => void forgetPending());
        return forgotten;
      }
      forgotten += answer.forgotten;
      cursor = answer.cursor;
      if (cursor !== '0') continue;
      if (tag === all) pending.clear();
      else pending.delete(tag);
      return forgotten;
    }
  }

  /** Retries pending removals. Never rejects: after a refusal by Redis there is another attempt. */
  async function forgetPending(): Promise<void> {
    again?.[Symbol.dispose]();
    again = undefined;
    await Promise.all(Array.from(pending, forgetTag));
  }

  return {
    /** Part of the names of values; undefined if this hub does not know it now. */
    get epoch() {
      return epoch;
    },
    /** The time of Redis in milliseconds, as far as the last answer tells. */
    redisTime: () => clock.monotonic() + aheadMs,
    /** Counts one more. Redis hears of it with the next change. */
    count(name: keyof Counts): void {
      unsent = { ...unsent, [name]: unsent[name] + 1 };
    },
    /** Marks a key as used. Redis hears of uses before the next change. */
    use(key: string): void {
      uses.delete(key);
      uses.add(key);
      if (uses.size < maxUses) applySoon();
      else apply({});
    },
    /** Runs a change, with all counts and uses up to now. */
    apply,
    applySoon,
    /** Removes the entries of a tag, or all; resolves with their number. */
    forget: (tag?: string) => forgetTag(tag === undefined ? all : JSON.stringify(tag)),
    forgetPending,
    /** Whether entries of a tag, or any, must still be removed, and therefore must not be found. */
    isForgetPending: (tag?: string) =>
      pending.size > 0 &&
      (tag === undefined || pending.has(all) || pending.has(JSON.stringify(tag))),
    /** Ends the retries, and tells Redis all counts, also those that come meanwhile. */
    async stop(): Promise<void> {
      isStopped = true;
      again?.[Symbol.dispose]();
      // Redis answers the reads of the last hits before the first run, and they are counted before the second.
      let isIdle = false;
      for (let run = 0; run < maxFlushes; run++) {
        const answer = await apply({}).inTime();
        if (!answer || answer.refusal !== undefined || (isIdle && unsent === noCounts)) return;
        isIdle = unsent === noCounts;
      }
    },
    /** The statistics of all hubs, or the latest known ones, with the counts that Redis has not taken yet. */
    async figures() {
      // More entries may have expired than one run removes.
      while ((await apply({}).inTime())?.isMore);
      return { ...seen, ...sum(seen, sum(sent, unsent)) };
    },
    /** The epoch may be another one from now on. */
    forgetEpoch(): void {
      epoch = undefined;
      applySoon();
    },
  };
}

const isRefusal = ([status]: readonly string[]) => status !== 'done';

const sum = (counts: Counts, more: Counts, times: 1 | -1 = 1): Counts => ({
  hits: counts.hits + times * more.hits,
  misses: counts.misses + times * more.misses,
  joined: counts.joined + times * more.joined,
  errors: counts.errors + times * more.errors,
});
