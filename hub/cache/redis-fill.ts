import type { Clock } from '#core';
import type { Fill, Found, KeepOptions } from './exact-cache.ts';
import { isKeepable } from './entries.ts';
import type { RedisClient } from './redis-client.ts';
import { readEntry } from './redis-entry.ts';
import type { Forgetting } from './redis-forgetting.ts';
import type { IndexChange, RedisIndex } from './redis-index.ts';
import { createLock } from './redis-lock.ts';
import type { News } from './redis-news.ts';
import { claimScript } from './redis-scripts.ts';

export type RedisFillOptions = {
  readonly maxEntries: number;
  readonly maxBytes: number;
  readonly lockMs: number;
  readonly pollMs: number;
};

type Needs = {
  readonly clock: Clock;
  readonly newId: () => string;
  readonly client: RedisClient;
  readonly index: RedisIndex;
  readonly news: Pick<News, 'listen'>;
  readonly forgetting: Pick<Forgetting, 'isForgetPending'>;
  /** Called if Redis refused to keep a value. */
  readonly refused: (reason: string) => void;
};

type Outcome = NonNullable<IndexChange['fill']>['outcome'];

/** 365 days. The numbers of Lua are exact far above that. */
const maxTtlMs = 31_536_000_000;

/** Gets the value of a key from Redis, from another hub that fills it, or by filling it here. */
export function createRedisFill(options: RedisFillOptions, needs: Needs) {
  const { maxEntries, maxBytes, lockMs, pollMs } = options;
  const { clock, client, index, news, forgetting } = needs;
  const hub = `${needs.newId()} `;

  return async (
    key: string,
    keep: KeepOptions,
    fill: Fill,
    signal: AbortSignal,
  ): Promise<Found> => {
    const tag = JSON.stringify(keep.tag);
    const token = hub + needs.newId();
    const ttlMs = Math.min(Math.floor(keep.ttlMs), maxTtlMs);
    const end = (outcome: Outcome, value = '') =>
      index.apply({ fill: { key, tag, token, outcome, ttlMs, maxEntries, maxBytes } }, value);
    const lock = createLock(
      { key, tag, token, leaseMs: lockMs },
      { clock, client, tooLate: () => void end('failed') },
    );

    /** The value from elsewhere; undefined if this hub must fill. */
    async function seek(): Promise<Found | undefined> {
      let from: 'hit' | 'joined' = 'hit';
      let isDropped = false;
      while (!forgetting.isForgetPending(keep.tag)) {
        // Before the claim: the message about the end of a fill may follow the answer at once.
        using listening = news.listen(key);
        index.use(key);
        const claim = client.ask(claimScript, [key, tag, hub, token, lockMs]);
        const [what, word = '', time] = (await claim.inTime()) ?? [];
        if (what === undefined)
          void claim.atLast.then(late => {
            if (late?.[0] === 'yours') lock.granted();
          });
        if (what === 'yours') lock.granted();
        signal.throwIfAborted();
        if (what === 'hit') {
          const entry = readEntry(word, Number(time));
          if (entry && keep.isReadable?.(entry.value) !== false) {
            index.count(from === 'hit' ? 'hits' : 'joined');
            return { ...entry, from };
          }
          if (isDropped) return undefined;
          isDropped = true;
          await index.apply({ drop: key }, word).inTime();
        } else if (what === 'wait') {
          from = 'joined';
          const value = await listening.heard(Math.min(pollMs, Number(word) + 1), signal);
          if (value === undefined) continue;
          index.count('joined');
          return { value, from, ageMs: 0 };
        } else return undefined;
      }
      return undefined;
    }

    const giveUp = () => {
      if (lock.release()) end('failed');
    };
    signal.addEventListener('abort', giveUp, { once: true });
    try {
      const found = await seek();
      if (found) return found;
      index.count('misses');
      index.applySoon();
      const { value, isKept } = await fill(signal);
      if (lock.release()) {
        // JSON cannot carry every value to the hubs that wait: they fill for themselves then.
        const other = value.isWellFormed() ? 'given' : 'failed';
        const ended = await end(isKept && isKeepable(value, keep) ? 'kept' : other, value).inTime();
        if (ended?.refusal !== undefined) needs.refused(ended.refusal);
      }
      return { value, from: 'filled', ageMs: 0 };
    } finally {
      giveUp();
      signal.removeEventListener('abort', giveUp);
    }
  };
}
