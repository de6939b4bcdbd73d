import { createEmitter, isObject, unlessAborted } from '#core';
import type { RedisNeeds } from '#redis';
import { type Fill, type Found, type KeepOptions, isKeepable } from './exact-cache.ts';
import type { RedisCacheSettings, RedisClient } from './redis-client.ts';
import type { IndexChange, RedisIndex } from './redis-index.ts';
import { claimScript, indexScript, readEntry, renewScript } from './redis-scripts.ts';

/** A message on the channel of a cache, or the loss of the connection. */
export type CacheMessage =
  | { readonly kind: 'ended'; readonly key: string; readonly given: string | undefined }
  /** Without a tag: all entries. */
  | { readonly kind: 'forgot'; readonly tag: string | undefined }
  | { readonly kind: 'lost' };

type Options = Pick<RedisCacheSettings, 'maxEntries' | 'maxBytes' | 'lockMs' | 'pollMs'>;

type Needs = Pick<RedisNeeds, 'clock' | 'newId'> & {
  readonly client: Pick<RedisClient, 'ask' | 'tell' | 'failed'>;
  readonly index: Pick<RedisIndex, 'apply' | 'applySoon' | 'count' | 'isForgetPending' | 'use'>;
};

type Outcome = NonNullable<IndexChange['fill']>['outcome'];

/** 365 days. The numbers of Lua are exact far above that. */
const maxTtlMs = 31_536_000_000;

/** Gets values from Redis, from another hub that fills them, or by filling them here. */
export function createRedisFill(options: Options, { clock, newId, client, index }: Needs) {
  const { maxEntries, maxBytes, lockMs, pollMs } = options;
  const { event, fire } = createEmitter<CacheMessage>();
  const hub = `${newId()} `;

  /**
   * Listens for the end of another hub's fill. `ended` resolves with the value if the fill gave one that is not kept,
   * with undefined at any other end, and when the connection is lost.
   */
  function listen(key: string) {
    const { promise: ended, resolve: end } = Promise.withResolvers<string | undefined>();
    const subscription = event(message => {
      if (message.kind === 'lost') end(undefined);
      else if (message.kind === 'ended' && message.key === key) end(message.given);
    });
    return { ended, end, [Symbol.dispose]: () => subscription[Symbol.dispose]() };
  }

  async function fillThrough(
    key: string,
    keep: KeepOptions,
    fill: Fill,
    signal: AbortSignal,
  ): Promise<Found> {
    const tag = JSON.stringify(keep.tag);
    const token = hub + newId();
    const ttlMs = Math.min(Math.floor(keep.ttlMs), maxTtlMs);
    const end = (outcome: Outcome, value = '') =>
      index.apply({ fill: { key, tag, token, outcome, ttlMs, maxEntries, maxBytes } }, value);
    const lock = createLock({
      renewLater: work => clock.after(lockMs / 4, work),
      renew: () => client.tell(renewScript, [key, tag, token, lockMs]).atLast,
      tooLate: () => void end('failed'),
    });

    /** The value from elsewhere; undefined if this hub must fill. */
    async function seek(): Promise<Found | undefined> {
      let from: 'hit' | 'joined' = 'hit';
      let isDropped = false;
      while (!index.isForgetPending(keep.tag)) {
        // Before the claim: the message about the end of a fill may follow the answer at once.
        using listening = listen(key);
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
          const waitMs = Math.min(pollMs, Number(word) + 1);
          using _timer = clock.after(waitMs, () => listening.end(undefined));
          const value = await unlessAborted(listening.ended, signal);
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
        if (ended?.refusal !== undefined) client.failed(ended.refusal, indexScript);
      }
      return { value, from: 'filled', ageMs: 0 };
    } finally {
      giveUp();
      signal.removeEventListener('abort', giveUp);
    }
  }

  return { fillThrough, /** Passes a message on to the calls that wait. */ hear: fire };
}

/**
 * The lock by which one hub fills a key, not granted yet. A hub that dies loses it when its lease ends. `tooLate` is
 * called if Redis grants it after its release.
 */
function createLock(needs: {
  renewLater(work: () => void): Disposable;
  renew(): Promise<readonly string[] | undefined>;
  tooLate(): void;
}) {
  let state: 'asked' | 'held' | 'lost' | 'released' = 'asked';
  let renewal: Disposable | undefined;

  const renewLater = () => void (renewal = needs.renewLater(() => void renew()));

  async function renew(): Promise<void> {
    const answer = await needs.renew();
    if (state !== 'held') return;
    if (answer?.[0] === 'lost') state = 'lost';
    else renewLater();
  }

  return {
    /** Records that Redis granted the lock, and renews it until it is released. */
    granted(): void {
      if (state === 'released') needs.tooLate();
      if (state !== 'asked') return;
      state = 'held';
      renewLater();
    },
    /** Ends it. Returns true once, if the lock was held and Redis must be told. */
    release(): boolean {
      const wasHeld = state === 'held';
      state = 'released';
      renewal?.[Symbol.dispose]();
      return wasHeld;
    },
  };
}

/** Parses a message as the scripts write it; undefined for any other. */
export function parseMessage(text: string): CacheMessage | undefined {
  try {
    const message: unknown = JSON.parse(text);
    if (!isObject(message)) return undefined;
    const { key, outcome, value, forgot } = message;
    if (forgot === '') return { kind: 'forgot', tag: undefined };
    if (typeof forgot === 'string') return { kind: 'forgot', tag: String(JSON.parse(forgot)) };
    if (typeof key !== 'string') return undefined;
    const given = outcome === 'given' && typeof value === 'string' ? value : undefined;
    return { kind: 'ended', key, given };
  } catch {
    // Other programs may publish on a shared Redis.
    return undefined;
  }
}
