import type { Clock } from '#core';
import type { Answer, RedisClient } from './redis-client.ts';
import { indexScript } from './redis-scripts.ts';

const names = ['hits', 'misses', 'joined', 'errors'] as const;
type Counts = Readonly<Record<(typeof names)[number], number>>;
const none: Counts = { hits: 0, misses: 0, joined: 0, errors: 0 };

/** The statistics of all hubs. */
export type Figures = Counts & {
  readonly entries: number;
  readonly bytes: number;
  readonly evictions: number;
};

/** What `indexScript` does besides counting; all fields are optional. Tags are JSON. */
export type IndexChange = {
  /** The end of a fill. `given`: to the hubs that wait, but not kept. */
  readonly fill?: {
    readonly key: string;
    readonly tag: string;
    readonly token: string;
    readonly outcome: 'kept' | 'given' | 'failed';
    readonly ttlMs: number;
    readonly maxEntries: number;
    readonly maxBytes: number;
  };
  /** One step of a forget. An empty tag means all. */
  readonly forget?: { readonly tag: string; readonly cursor: string };
  /** A key to remove if it still has the value. */
  readonly drop?: string;
};

export type IndexAnswer = {
  /** Why Redis took no writes; undefined if it took them. */
  readonly refusal: string | undefined;
  readonly forgotten: number;
  /** Of the next step of a forget; `0` after the last one. */
  readonly cursor: string;
  /** Whether expired entries remain. */
  readonly isMore: boolean;
};

export type RedisIndex = ReturnType<typeof createRedisIndex>;

/**
 * Delay until Redis hears of hits. A fill of another hub that ends in this time may evict an entry that was used
 * in it.
 */
const soonMs = 20;
/** Redis hears at once of more used keys. */
const maxUses = 500;
/** Most runs of `flush`. */
const maxFlushes = 100;

/** The index of the shared cache. It tells Redis of counts and uses a few milliseconds later, many at once. */
export function createRedisIndex(
  client: Pick<RedisClient, 'tell'>,
  channel: string,
  clock: Pick<Clock, 'after' | 'monotonic'>,
) {
  /** Counts that were not sent, and those whose answer is missing. */
  let unsent = none;
  let sent = none;
  /** In the order of their last use. */
  const uses = new Set<string>();
  let epoch: string | undefined;
  /** By how much the time of Redis was ahead of the monotonic time of this process. */
  let aheadMs = 0;
  let seen: Figures = { ...none, entries: 0, bytes: 0, evictions: 0 };
  let soon: Disposable | undefined;

  function apply(change: IndexChange, value = ''): Answer<IndexAnswer> {
    soon?.[Symbol.dispose]();
    soon = undefined;
    const sending = unsent;
    unsent = none;
    sent = sum(sent, sending);
    const counts = Object.fromEntries(Object.entries(sending).filter(([, count]) => count > 0));
    const request = JSON.stringify({ counts, uses: [...uses], ...change });
    uses.clear();
    const { inTime, atLast } = client.tell(indexScript, [request, value, channel]);
    const answer = atLast.then(words => {
      sent = sum(sent, sending, -1);
      if (words?.[0] !== 'done') unsent = sum(unsent, sending);
      return words && read(words);
    });
    return { inTime: async () => (await inTime()) && answer, atLast: answer };
  }

  function read(words: readonly string[]): IndexAnswer {
    const [status = '', at, time, forgotten, cursor = '0', more, ...figures] = words;
    const [entries = 0, bytes = 0, hits = 0, misses = 0, joined = 0, evictions = 0, errors = 0] =
      figures.map(Number);
    epoch = at || undefined;
    aheadMs = Number(time) - clock.monotonic();
    seen = { entries, bytes, hits, misses, joined, evictions, errors };
    const refusal = status === 'done' ? undefined : status;
    return { refusal, forgotten: Number(forgotten), cursor, isMore: more === 'more' };
  }

  function applySoon(): void {
    soon ??= clock.after(soonMs, () => void apply({}));
  }

  return {
    /** Part of the names of values; undefined if this hub does not know it now. */
    get epoch() {
      return epoch;
    },
    /** The time of Redis in milliseconds, as far as the last answer tells. */
    redisTime: () => clock.monotonic() + aheadMs,
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
    /** Tells Redis all counts, also those that come meanwhile. For a hub that stops. */
    async flush(): Promise<void> {
      // Redis answers the reads of the last hits before the first run, and they are counted before the second.
      let isIdle = false;
      for (let run = 0; run < maxFlushes; run++) {
        const answer = await apply({}).inTime();
        if (!answer || answer.refusal !== undefined || (isIdle && unsent === none)) return;
        isIdle = unsent === none;
      }
    },
    /** The statistics of all hubs, or the latest known ones, with the counts that Redis has not taken yet. */
    async figures(): Promise<Figures> {
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

function sum(counts: Counts, more: Counts, times: 1 | -1 = 1): Counts {
  return {
    hits: counts.hits + times * more.hits,
    misses: counts.misses + times * more.misses,
    joined: counts.joined + times * more.joined,
    errors: counts.errors + times * more.errors,
  };
}
