import type { Clock } from '#core';
import type { RedisClient } from './redis-client.ts';
import { renewScript } from './redis-scripts.ts';

/**
 * The lock by which one hub fills a key, not granted yet. A hub that dies loses it when its lease ends. `tooLate` is
 * called if Redis grants it after its release.
 */
export function createLock(
  {
    key,
    tag,
    token,
    leaseMs,
  }: Readonly<Record<'key' | 'tag' | 'token', string>> & {
    readonly leaseMs: number;
  },
  needs: {
    readonly clock: Pick<Clock, 'after'>;
    readonly client: Pick<RedisClient, 'tell'>;
    tooLate(): void;
  },
) {
  let state: 'asked' | 'held' | 'lost' | 'released' = 'asked';
  let renewal: Disposable | undefined;

  function renewLater(): void {
    renewal = needs.clock.after(leaseMs / 4, () => void renew());
  }

  async function renew(): Promise<void> {
    const answer = await needs.client.tell(renewScript, [key, tag, token, leaseMs]).atLast;
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
