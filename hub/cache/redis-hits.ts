import type { Clock } from '#core';
import type { Found } from './exact-cache.ts';
import type { Reach } from './reach.ts';
import { futureMs } from './redis-scripts.ts';
import type { Tally } from './redis-tally.ts';

type Needs = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly reach: Pick<Reach, 'read' | 'time'>;
  readonly tally: Pick<Tally, 'count' | 'use' | 'tellSoon'>;
};

/** What of the value of a hash is read of Redis, and when. */
export interface RedisHits {
  /** What is kept under a key, which is used by this; undefined where nobody can tell in time. Never rejects. */
  find(key: string): Promise<Found | undefined>;
  /** What the time is for Redis is not known any more: it may be another one from now on. */
  lost(): void;
}

/** After this time Redis is asked again what time it is. */
const renewMs = 1_000;
/** For so long two clocks do not part by more than `apartMs`, unless one of them is set. */
const trustedMs = 2 * renewMs;
const apartMs = 1;

/**
 * Finds what is kept without a script, which takes Redis longer than all else of a hit takes anybody: by one HGET,
 * whose answer alone is waited for. Whether what it gives has expired is told by the time of Redis, which is asked
 * for once in a while, and taken for later than it may be: what is found a moment before its end is no hit, and
 * the script that is asked next knows exactly.
 */
export function createRedisHits({ clock, reach, tally }: Needs): RedisHits {
  /** By how much the time of Redis is ahead of that of this process, at the most, and when that was so. */
  let aheadMs = 0;
  let seenAt = -Infinity;
  let renewAt = -Infinity;
  let asking: Promise<void> | undefined;

  async function askTime(askedAt: number): Promise<void> {
    renewAt = askedAt + renewMs;
    const time = await reach.time();
    if (time === undefined) {
      renewAt = -Infinity;
    } else {
      aheadMs = time - askedAt + apartMs;
      seenAt = askedAt;
    }
    asking = undefined;
  }

  function read(kept: string): Found | undefined {
    const now = clock.monotonic();
    if (now - seenAt >= trustedMs) return undefined;
    const first = kept.indexOf(' ');
    const second = kept.indexOf(' ', first + 1);
    // What another program has put there is read as the scripts read it.
    if (!isNumber(kept, 0, first) || !isNumber(kept, first + 1, second)) return undefined;
    const created = Number(kept.slice(0, first));
    const time = now + aheadMs;
    if (Number(kept.slice(first, second)) <= time || created > time + futureMs) return undefined;
    tally.count('hits');
    tally.tellSoon();
    const ageMs = Math.max(0, Math.floor(time - created));
    return { value: kept.slice(second + 1), from: 'hit', ageMs };
  }

  return {
    async find(key) {
      const askedAt = clock.monotonic();
      if (askedAt >= renewAt) asking = askTime(askedAt);
      const answer = reach.read(key);
      // Now, and not when it is found: what is kept from here on finds it used.
      tally.use(key);
      const kept = await answer;
      // What is asked first is answered first: Redis has told the time by now, or will not.
      if (asking) await asking;
      return typeof kept === 'string' ? read(kept) : undefined;
    },
    lost() {
      seenAt = -Infinity;
      renewAt = -Infinity;
    },
  };
}

/** Whether there are digits from one place to another, and nothing else. */
function isNumber(text: string, from: number, to: number): boolean {
  for (let place = from; place < to; place++) {
    const code = text.charCodeAt(place);
    if (code < 48 || code > 57) return false;
  }
  return to > from;
}
