import type { Clock } from '#core';
import { isKeepable } from './entries.ts';
import type { Fill, Found, KeepOptions } from './exact-cache.ts';
import type { Flight } from './flights.ts';
import type { Question, Reach } from './reach.ts';
import type { Forgetting } from './redis-forgetting.ts';
import { createLock } from './redis-lock.ts';
import type { createNews } from './redis-news.ts';
import { askScript, dropScript, finishScript } from './redis-scripts.ts';
import type { Tally } from './redis-tally.ts';

export type RedisFlightOptions = {
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly channel: string;
  readonly lockMs: number;
  readonly pollMs: number;
};

type Needs = {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly reach: Reach;
  readonly news: Pick<ReturnType<typeof createNews>, 'listen'>;
  readonly tally: Pick<Tally, 'count' | 'tellUses'>;
  readonly forgetting: Pick<Forgetting, 'isOwed'>;
  /** Called where a value was to be kept, and Redis took it not. */
  readonly refused: (reason: string) => void;
};

/** 365 days: more than anybody waits for, and little enough for the numbers of Lua. */
const maxTtlMs = 31_536_000_000;
/** Locks that Redis may not have let go of; the first of more are waited for until their time is over. */
const maxLeft = 1_000;

/** How a flight finds the value of a key: kept in Redis, filled by another hub, or filled by this one. */
export function createRedisFlight(options: RedisFlightOptions, needs: Needs) {
  const { maxEntries, maxBytes, channel, lockMs, pollMs } = options;
  const { clock, reach, news, tally, forgetting } = needs;
  /** Keys and tokens of fills that have ended here, as long as Redis has not taken that. */
  const left = new Map<string, string>();

  function ended(key: string, token: string, { atLast }: Question): void {
    left.delete(key);
    const [first] = left.keys();
    if (first !== undefined && left.size >= maxLeft) left.delete(first);
    left.set(key, token);
    void atLast.then(answer => {
      if (answer && answer[0] !== 'full' && left.get(key) === token) left.delete(key);
    });
  }

  return async (key: string, keep: KeepOptions, fill: Fill, { signal }: Flight): Promise<Found> => {
    const tag = JSON.stringify(keep.tag);
    const token = needs.newId();
    const ttlMs = Math.min(Math.floor(keep.ttlMs), maxTtlMs);
    const end = (outcome: 'kept' | 'given' | 'failed', value = '') => {
      const about = [key, tag, token, outcome, value];
      // It may let go of what was not used for longest.
      tally.tellUses();
      const told = reach.tell(finishScript, [...about, ttlMs, maxEntries, maxBytes, channel]);
      ended(key, token, told);
      return told;
    };
    const lock = createLock(key, token, lockMs, {
      clock,
      reach,
      tooLate: () => void end('failed'),
    });

    /** What is there, or comes from another hub; undefined where this one is to fill. */
    async function seek(): Promise<Found | undefined> {
      let counter: 'hits' | 'joined' = 'hits';
      let isDropped = false;
      while (!forgetting.isOwed(keep.tag)) {
        // Before the question: the end of a fill may be told right after the answer.
        using listening = news.listen(key);
        tally.tellUses();
        const { inTime, atLast } = reach.ask(askScript, [
          key,
          tag,
          token,
          lockMs,
          counter,
          left.get(key) ?? '',
        ]);
        const answer = await inTime;
        const [what, word = '', age] = answer ?? [];
        if (what === 'yours') lock.granted();
        signal.throwIfAborted();
        if (what === 'yours') return undefined;
        if (what === 'hit' && !isDropped && keep.isReadable?.(word) === false) {
          isDropped = true;
          await reach.tell(dropScript, [key, word]).inTime;
          continue;
        }
        if (what === 'hit')
          return { value: word, from: counter === 'hits' ? 'hit' : 'joined', ageMs: Number(age) };
        if (what !== 'wait') {
          void atLast.then(late =>
            late?.[0] === 'yours' ? lock.granted() : tally.count('misses'),
          );
          return undefined;
        }
        counter = 'joined';
        const given = await listening.heard(Math.min(pollMs, Number(word) + 1), signal);
        if (given === undefined) continue;
        tally.count('joined');
        return { value: given, from: 'joined', ageMs: 0 };
      }
      tally.count('misses');
      return undefined;
    }

    const giveUp = () => {
      if (lock.letGo()) end('failed');
    };
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      const found = await seek();
      if (found) return found;
      const { value, isKept } = await fill(signal);
      if (lock.letGo()) {
        const isWanted = isKept && isKeepable(value, keep);
        // What JSON cannot tell to other hubs as it is, they fill for themselves.
        const [what, why] =
          (await end(isWanted ? 'kept' : value.isWellFormed() ? 'given' : 'failed', value)
            .inTime) ?? [];
        if (what === 'full') needs.refused(why ?? '');
      }
      return { value, from: 'filled', ageMs: 0 };
    } finally {
      giveUp();
      signal.removeEventListener('abort', giveUp);
    }
  };
}
