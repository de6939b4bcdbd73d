import { type Clock, type Event, createEmitter } from '#core';
import {
  type Breaker,
  type BreakerOptions,
  type Permit,
  type BreakerRefusal,
  type Standing,
  createBreaker,
  trialRetryMs,
} from './breaker.ts';

/** The part of a breaker that is shared: it reports its state, and adopts decisions of other hubs. */
export type JoinedBreaker = Pick<Breaker, 'adopt' | 'standing'>;

export type BreakerDecision = Standing & {
  /** Increases with each decision on a key in any hub: the decision with the highest epoch is the latest. */
  readonly epoch: number;
};

/** State of the sharing between this hub and other hubs. */
export type SharingStatus =
  /** Sharing is not configured. */
  | { readonly kind: 'alone' }
  | { readonly kind: 'shared'; readonly since: number }
  /** For now, each hub decides by itself. `since` is in milliseconds since the epoch. */
  | { readonly kind: 'degraded'; readonly since: number; readonly reason: string };

export type TrialClaim =
  /** `won`: this hub makes the trial. `unknown`: Redis did not answer in time, and this hub makes the trial, too. */
  | ({ readonly kind: 'won' | 'unknown' } & Lease)
  /** Another hub makes the trial. Its lock ends in `leftMs`, or later if that hub renews it. */
  | { readonly kind: 'lost'; readonly leftMs: number };

/** Lock of a hub on a trial. Its methods never wait or throw, and do not affect the lock of another hub. */
interface Lease {
  /** Extends the lock by its lease, and acquires it again if it has expired. */
  renew(): void;
  release(): void;
}

/** A breaker whose state is shared with the breakers of the same key in other hubs. Disposing ends the sharing. */
export interface Membership extends Disposable {
  /** Publishes the state after a decision of this hub. Never waits; only the latest state is sent. */
  tell(): void;
  /** Acquires the lock on the trial for `leaseMs`. Resolves within a short timeout; never rejects. */
  claim(leaseMs: number): Promise<TrialClaim>;
}

export interface Sharing {
  readonly status: SharingStatus;
  readonly changed: Event<SharingStatus>;
  /** Connects and reads the state of all joined breakers. Resolves when done, or after a timeout; never rejects. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Adds a breaker under a key. Later decisions of other hubs on this key are passed to its `adopt`. */
  join(key: string, breaker: JoinedBreaker): Membership;
}

type SharedBreakerOptions = Omit<BreakerOptions, 'trialMs'> & {
  /** Time in ms after which another hub takes over an unrenewed trial; 5 s by default. Trials have no timeout. */
  readonly leaseMs?: number;
};

/** A breaker that opens and closes together with the breakers of the same key in other hubs. */
export type SharedBreaker = ReturnType<typeof createSharedBreaker>;

/** Number of renewals during one lease. */
const renewals = 5;
/** Number of missed renewals after which a hub counts as dead. */
const missed = 2;

/** Creates a shared breaker. Disposing it does not affect the breakers of other hubs. */
export function createSharedBreaker(
  first: string,
  { leaseMs = 5_000, ...options }: SharedBreakerOptions,
  needs: { readonly clock: Clock; readonly sharing: Pick<Sharing, 'join'> },
) {
  const { clock, sharing } = needs;
  const renewMs = leaseMs / renewals;
  const breaker = createBreaker(options, clock);
  let key = first;
  let membership = sharing.join(key, breaker);
  let isOver = false;
  const told = breaker.changed(({ origin, state }) => {
    if (origin === 'operator' || (origin === 'calls' && state !== 'half_open')) membership.tell();
  });

  /**
   * Returns the permit for a trial that `admit` demands, to one call among all hubs. Waits briefly for Redis, as no
   * other method does.
   */
  async function trial(): Promise<Permit | BreakerRefusal> {
    const permit = breaker.claim();
    if (permit.kind === 'refused' || !permit.trial) return permit;
    const claim = await membership.claim(leaseMs);
    if (claim.kind === 'lost') {
      permit.cancelled();
      const { leftMs } = claim;
      // The other hub does not report a cancelled trial, so retry before its lease ends. The lease of a dead hub must
      // end first.
      const isAlive = leftMs > leaseMs - missed * renewMs;
      breaker.postpone(isAlive ? Math.min(leftMs, trialRetryMs) : leftMs);
    } else if (permit.current) {
      return renewed(permit, claim);
    } else {
      claim.release();
    }
    const admission = breaker.admit();
    if (admission.kind !== 'trial') return admission;
    const { why, failures } = breaker.standing();
    return { kind: 'refused', retryAfterMs: 1, why, failures };
  }

  /** Returns the permit of a trial. This hub renews its lock until the outcome is reported. */
  function renewed(permit: Permit, lease: Lease): Permit {
    let timer = clock.after(renewMs, renew);
    function renew(): void {
      // After another decision, the outcome of the trial no longer counts.
      if (isOver || !permit.current) return lease.release();
      lease.renew();
      timer = clock.after(renewMs, renew);
    }
    const settle = (outcome: () => void) => {
      outcome();
      timer[Symbol.dispose]();
      lease.release();
    };
    return {
      kind: 'permit',
      trial: true,
      get current() {
        return permit.current;
      },
      succeeded: () => settle(() => permit.succeeded()),
      failed: why => settle(() => permit.failed(why)),
      cancelled: () => settle(() => permit.cancelled()),
    };
  }

  return {
    get state() {
      return breaker.state;
    },
    changed: breaker.changed,
    snapshot: breaker.snapshot,
    admit: breaker.admit,
    trial,
    reset: breaker.reset,
    /** Moves the breaker to another key, and closes it unless one of that key is open. Other breakers do not change. */
    rekey(next: string): void {
      if (next === key) return;
      key = next;
      membership[Symbol.dispose]();
      // Not published, because this is no decision about either key.
      breaker.adopt({ state: 'closed', remainingMs: 0, failures: 0, why: '' });
      membership = sharing.join(key, breaker);
    },
    [Symbol.dispose]() {
      isOver = true;
      told[Symbol.dispose]();
      membership[Symbol.dispose]();
      breaker[Symbol.dispose]();
    },
  };
}

type Group = {
  readonly members: Set<JoinedBreaker>;
  /** Latest decision on the key, with its time in monotonic ms. */
  latest: (BreakerDecision & { readonly at: number }) | undefined;
  trial: { until: number } | undefined;
};

/** Connects breakers within one process. Each call of the returned function creates the sharing of one hub. */
export function createMemorySharing(clock: Clock): () => Sharing {
  const groups = new Map<string, Group>();

  function join(key: string, breaker: JoinedBreaker): Membership {
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
      async claim(leaseMs): Promise<TrialClaim> {
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

  function aged(latest: BreakerDecision & { readonly at: number }): BreakerDecision {
    const remainingMs = latest.remainingMs - (clock.monotonic() - latest.at);
    return { ...latest, remainingMs: Math.max(0, remainingMs) };
  }

  return () => {
    const status: SharingStatus = { kind: 'alone' };
    const { event } = createEmitter<SharingStatus>();
    return { status, changed: event, async start() {}, async stop() {}, join };
  };
}
