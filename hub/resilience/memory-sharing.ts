import { type Clock, createEmitter } from '#core';
import type { Breaker } from './breaker.ts';
import type { Claim, Decision, Membership, Sharing, SharingStatus } from './shared-breakers.ts';

type Group = {
  readonly members: Set<Pick<Breaker, 'adopt' | 'standing'>>;
  /** The latest decision, with its monotonic time. */
  latest: (Decision & { readonly at: number }) | undefined;
  trial: { until: number } | undefined;
};

/** Connects breakers within one process. Each call of the returned function gives the sharing of one hub. */
export function createMemorySharing(clock: Clock): () => Sharing {
  const groups = new Map<string, Group>();

  function join(key: string, breaker: Pick<Breaker, 'adopt' | 'standing'>): Membership {
    const group = groups.get(key) ?? { members: new Set(), latest: undefined, trial: undefined };
    groups.set(key, group);
    group.members.add(breaker);
    if (group.latest) breaker.adopt(aged(group.latest));
    return {
      tell() {
        const epoch = (group.latest?.epoch ?? 0) + 1;
        group.latest = { ...breaker.standing(), epoch, at: clock.monotonic() };
        for (const member of group.members) if (member !== breaker) member.adopt(group.latest);
      },
      async claim(leaseMs): Promise<Claim> {
        const now = clock.monotonic();
        const isHeld = () => group.trial !== undefined && clock.monotonic() < group.trial.until;
        if (group.trial && isHeld()) return { kind: 'lost', leftMs: group.trial.until - now };
        const own = { until: now + leaseMs };
        group.trial = own;
        return {
          kind: 'won',
          renew() {
            if (group.trial !== own && isHeld()) return;
            own.until = clock.monotonic() + leaseMs;
            group.trial = own;
          },
          release() {
            if (group.trial === own) group.trial = undefined;
          },
        };
      },
      [Symbol.dispose]() {
        group.members.delete(breaker);
        if (group.members.size === 0) groups.delete(key);
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
