import { type Clock, createEmitter } from '#core';
import type { Breaker } from './breaker.ts';
import type { Claim, Decision, Membership, Sharing, SharingStatus } from './shared-breakers.ts';

type Place = {
  readonly members: Set<Pick<Breaker, 'adopt' | 'standing'>>;
  /** The latest decision, and when it was made. */
  latest: (Decision & { readonly at: number }) | undefined;
  trial: { until: number } | undefined;
};

/**
 * Where breakers of one process meet. What `createMemorySharing` makes serves the one hub of a process;
 * called several times, as many hubs that know each other.
 */
export function createMemorySharing(clock: Clock): () => Sharing {
  const places = new Map<string, Place>();

  function join(key: string, breaker: Pick<Breaker, 'adopt' | 'standing'>): Membership {
    const place = places.get(key) ?? { members: new Set(), latest: undefined, trial: undefined };
    places.set(key, place);
    place.members.add(breaker);
    if (place.latest) breaker.adopt(aged(place.latest));
    return {
      tell() {
        const epoch = (place.latest?.epoch ?? 0) + 1;
        place.latest = { ...breaker.standing(), epoch, at: clock.monotonic() };
        for (const member of place.members) if (member !== breaker) member.adopt(place.latest);
      },
      async claim(leaseMs): Promise<Claim> {
        const now = clock.monotonic();
        const isHeld = () => place.trial !== undefined && clock.monotonic() < place.trial.until;
        if (place.trial && isHeld()) return { kind: 'lost', leftMs: place.trial.until - now };
        const own = { until: now + leaseMs };
        place.trial = own;
        return {
          kind: 'won',
          renew() {
            if (place.trial !== own && isHeld()) return;
            own.until = clock.monotonic() + leaseMs;
            place.trial = own;
          },
          release() {
            if (place.trial === own) place.trial = undefined;
          },
        };
      },
      [Symbol.dispose]() {
        place.members.delete(breaker);
        // What the last one leaves behind nobody would remove.
        if (place.members.size === 0) places.delete(key);
      },
    };
  }

  function aged(latest: Decision & { readonly at: number }): Decision {
    const remainingMs = latest.remainingMs - (clock.monotonic() - latest.at);
    return { ...latest, remainingMs: Math.max(0, remainingMs) };
  }

  return () => {
    const status: SharingStatus = { kind: 'alone' };
    const { event } = createEmitter<SharingStatus>();
    return { status, changed: event, async start() {}, async stop() {}, join };
  };
}
