import type { Clock } from '#core';
import type { RedisAnswer, RedisClient } from './redis-client.ts';
import { indexScript } from './redis-scripts.ts';

const noCounts = { hits: 0, misses: 0, joined: 0, errors: 0 };
type Counts = Readonly<typeof noCounts>;

/** Change that `indexScript` makes in addition to counting. Tags are JSON strings. */
type IndexChange = {
  /** New entry. It is stored only if the generation of its tag is still the one that `findScript` returned. */
  readonly put?: {
    readonly key: string;
    readonly tag: string;
    readonly generation: string;
    readonly ttlMs: number;
    readonly maxEntries: number;
    readonly maxBytes: number;
  };
  /** Removes some of the entries with a tag, starting at a cursor of HSCAN. An empty tag means all entries. */
  readonly forget?: { readonly tag: string; readonly cursor: string };
};

type IndexAnswer = {
  /** Reason why Redis refused writes; undefined if it accepted them. */
  readonly refusal: string | undefined;
  readonly forgotten: number;
  /** Cursor of the next step of a forget; `0` after the last step. */
  readonly cursor: string;
  /** True if expired entries remain. */
  readonly isMore: boolean;
};

/**
 * Delay in ms after which hits are reported to Redis. Until then, a fill of another hub may evict an entry that was
 * just used.
 */
const soonMs = 20;
/** Number of used keys above which Redis is updated at once. */
const maxUses = 500;
/** Maximum number of times that `stop` sends pending counts. */
const maxFlushes = 100;
/** Tag that means all entries in a forget. */
const all = '';
/** Maximum number of tags with a pending removal. If there are more, all entries are removed. */
const maxPending = 100;
/** Time in ms until a forget that Redis refused is retried. */
const againMs = 1_000;

/**
 * Creates the index of the shared cache. Counts and uses are collected for a few milliseconds and sent to Redis
 * together. If Redis cannot be reached, removals are retried when it is back.
 */
export function createRedisIndex(
  client: Pick<RedisClient, 'tell'>,
  channel: string,
  clock: Pick<Clock, 'after' | 'monotonic'>,
) {
  /** Counts that were not sent yet. `sent`: counts that were sent, but not confirmed. */
  let unsent: Counts = noCounts;
  let sent: Counts = noCounts;
  /** Keys in the order of their last use. */
  const uses = new Set<string>();
  let epoch: string | undefined;
  /** Difference in ms between the clock of Redis and the monotonic clock of this process. */
  let aheadMs = 0;
  let seen = { ...noCounts, entries: 0, bytes: 0, evictions: 0 };
  let soon: Disposable | undefined;
  /** Tags (as JSON) whose entries still have to be removed, or `all`. */
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
    // A run that has nothing to write succeeds also while Redis refuses writes.
    const isWrite = [counts, change].some(part => Object.keys(part).length > 0) || uses.size > 0;
    const isAcceptance = (words: readonly string[]) => isWrite && !isRefusal(words);
    uses.clear();
    const { inTime, atLast } = client.tell(indexScript, [request, value, channel], isAcceptance);
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
        // A Redis that refuses writes stays connected, so no reconnection triggers the next attempt.
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

  /** Retries pending removals. Never rejects: if Redis refuses, another attempt is scheduled. */
  async function forgetPending(): Promise<void> {
    again?.[Symbol.dispose]();
    again = undefined;
    await Promise.all(Array.from(pending, forgetTag));
  }

  return {
    /** Epoch of the entries, a part of the names of their values; undefined while this hub does not know it. */
    get epoch() {
      return epoch;
    },
    /** Current time of Redis in milliseconds, estimated from its last answer. */
    redisTime: () => clock.monotonic() + aheadMs,
    /** Increments a count. It is sent to Redis with the next change. */
    count(name: keyof Counts): void {
      unsent = { ...unsent, [name]: unsent[name] + 1 };
    },
    /** Marks a key as used. Uses are sent to Redis before the next change. */
    use(key: string): void {
      uses.delete(key);
      uses.add(key);
      if (uses.size < maxUses) applySoon();
      else apply({});
    },
    /** Sends a change to Redis, with all counts and uses so far. */
    apply,
    applySoon,
    /** Removes the entries of a tag, or all entries; resolves with their number. */
    forget: (tag?: string) => forgetTag(tag === undefined ? all : JSON.stringify(tag)),
    forgetPending,
    /** True if entries of a tag, or of any tag, still have to be removed, and therefore must not be returned. */
    isForgetPending: (tag?: string) =>
      pending.size > 0 &&
      (tag === undefined || pending.has(all) || pending.has(JSON.stringify(tag))),
    /** Stops the retries, and sends all counts to Redis, including those that are added meanwhile. */
    async stop(): Promise<void> {
      isStopped = true;
      again?.[Symbol.dispose]();
      // Redis answers the last hits before the first run ends; their counts are sent by the second run.
      let isIdle = false;
      for (let run = 0; run < maxFlushes; run++) {
        const answer = await apply({}).inTime();
        if (!answer || answer.refusal !== undefined || (isIdle && unsent === noCounts)) return;
        isIdle = unsent === noCounts;
      }
    },
    /** Resolves with the (latest known) statistics of all hubs, plus the counts that Redis has not received yet. */
    async figures() {
      // One run removes a limited number of expired entries, so more may be left.
      while ((await apply({}).inTime())?.isMore);
      return { ...seen, ...sum(seen, sum(sent, unsent)) };
    },
    /** Drops the epoch because it may have changed, and requests the current one. */
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
