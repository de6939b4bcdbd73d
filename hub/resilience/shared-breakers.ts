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

/** A breaker that takes over the decisions of other hubs. */
export type JoinedBreaker = Pick<Breaker, 'adopt' | 'standing'>;

export type BreakerDecision = Standing & {
  /** Grows with each decision on a key in any hub: the greatest one is the latest. */
  readonly epoch: number;
};

/** Whether this hub shares its breakers with other hubs. */
export type SharingStatus =
  /** Sharing is not configured. */
  | { readonly kind: 'alone' }
  | { readonly kind: 'shared'; readonly since: number }
  /** Each hub decides by itself for now. `since` is in milliseconds since the epoch. */
  | { readonly kind: 'degraded'; readonly since: number; readonly reason: string };

export type TrialClaim =
  /** `unknown`: no answer in time, so this hub makes the trial. */
  | ({ readonly kind: 'won' | 'unknown' } & Lease)
  /** Another hub holds it for `leftMs`, or longer if it renews it. */
  | { readonly kind: 'lost'; readonly leftMs: number };

/** A hub's hold on the trial. Its methods never wait or fail, and do not affect another hub's hold. */
interface Lease {
  /** Extends the hold by its lease, and takes it again if it has expired. */
  renew(): void;
  release(): void;
}

/** A breaker that shares its key with breakers of other hubs. Disposing ends that. */
export interface Membership extends Disposable {
  /** Publishes the state after a decision of this hub. Never waits; only the latest state is kept. */
  tell(): void;
  /** Claims the trial for `leaseMs`. Resolves within a short deadline; never rejects. */
  claim(leaseMs: number): Promise<TrialClaim>;
}

export interface Sharing {
  readonly status: SharingStatus;
  readonly changed: Event<SharingStatus>;
  /** Connects and reads the state of all joined breakers. Resolves then, or after a deadline; never rejects. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Adds a breaker to those of the key. Later decisions are passed to its `adopt`. */
  join(key: string, breaker: JoinedBreaker): Membership;
}

type SharedBreakerOptions = Omit<BreakerOptions, 'trialMs'> & {
  /** Time after which another hub takes over a trial that is not renewed; 5 s by default. Trials have no time limit. */
  readonly leaseMs?: number;
};

/** A breaker that opens and closes together with those of the same key in other hubs. */
export type SharedBreaker = ReturnType<typeof createSharedBreaker>;

/** Renewals during one lease. */
const renewals = 5;
/** A hub that missed this many renewals counts as dead. */
const missed = 2;

/** Creates a shared breaker. Disposing it does not affect the others. */
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
   * The permit for the trial that `admit` demands, for one call among all hubs. The only method that waits for
   * another machine, briefly.
   */
  async function trial(): Promise<Permit | BreakerRefusal> {
    const permit = breaker.claim();
    if (permit.kind === 'refused' || !permit.trial) return permit;
    const claim = await membership.claim(leaseMs);
    if (claim.kind === 'lost') {
      permit.cancelled();
      const { leftMs } = claim;
      // The other hub does not report a cancelled trial: ask again before the lease ends. A dead hub's lease must end.
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

  /** The permit of a trial that this hub holds until the other hubs know the outcome. */
  function renewed(permit: Permit, lease: Lease): Permit {
    let timer = clock.after(renewMs, renew);
    function renew(): void {
      // After another decision the outcome no longer counts.
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
    /** Moves it to another key, and closes it unless a breaker of that key is open. The others stay as they are. */
    rekey(next: string): void {
      if (next === key) return;
      key = next;
      membership[Symbol.dispose]();
      // Not published: it is no decision about either key.
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
  /** The latest decision, with its monotonic time. */
  latest: (BreakerDecision & { readonly at: number }) | undefined;
  trial: { until: number } | undefined;
};

/** Connects breakers within one process. Each call of the returned function gives the sharing of one hub. */
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
