import type { Clock, Event } from '#core';
import {
  type Breaker,
  type BreakerOptions,
  type Permit,
  type Refusal,
  type Standing,
  createBreaker,
  trialRetryMs,
} from './breaker.ts';

/** Whether this hub shares its breakers with other hubs. */
export type SharingStatus =
  /** Sharing is not configured. */
  | { readonly kind: 'alone' }
  | { readonly kind: 'shared'; readonly since: number }
  /** Each hub decides by itself for now. `since` is in milliseconds since the epoch. */
  | { readonly kind: 'degraded'; readonly since: number; readonly reason: string };

/** Result of a claim on the single trial of all hubs. */
export type Claim =
  /** `unknown`: no answer in time, so this hub makes the trial. */
  | ({ readonly kind: 'won' | 'unknown' } & Lease)
  /** Another hub holds it for `leftMs`, or longer if it renews it. */
  | { readonly kind: 'lost'; readonly leftMs: number };

/** A hub's hold on the trial. Its methods never wait or fail, and do not affect another hub's hold. */
export interface Lease {
  /** Extends the hold by its lease, and takes it again if it has expired. */
  renew(): void;
  release(): void;
}

/** A breaker that shares its key with breakers of other hubs. Disposing ends that. */
export interface Membership extends Disposable {
  /** Publishes the state after a decision of this hub. Never waits; only the latest state is kept. */
  tell(): void;
  /** Claims the trial for `leaseMs`. Resolves within a short deadline; never rejects. */
  claim(leaseMs: number): Promise<Claim>;
}

/** Connects the breakers of several hubs. */
export interface Sharing {
  readonly status: SharingStatus;
  readonly changed: Event<SharingStatus>;
  /** Connects and reads the state of all joined breakers. Resolves then, or after a deadline; never rejects. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Adds a breaker to those of the key. Later decisions are passed to its `adopt`. */
  join(key: string, breaker: Pick<Breaker, 'adopt' | 'standing'>): Membership;
}

export type SharedBreakerOptions = Omit<BreakerOptions, 'trialMs'> & {
  /** Time after which another hub takes over a trial that is not renewed; 5 s by default. Trials have no time limit. */
  readonly leaseMs?: number;
};

/** A breaker that opens and closes together with those of the same key in other hubs. */
export interface SharedBreaker extends Omit<Breaker, 'claim' | 'adopt' | 'postpone' | 'standing'> {
  /** Moves it to another key, and closes it unless a breaker of that key is open. The others stay as they are. */
  rekey(key: string): void;
  /**
   * The permit for the trial that `admit` demands, for one call among all hubs. The only method that waits for
   * another machine, briefly.
   */
  trial(): Promise<Permit | Refusal>;
}

/** Renewals during one lease. */
const renewals = 5;
/** A hub that missed this many renewals counts as dead. */
const missed = 2;

/** Creates a shared breaker. Disposing it does not affect the others. */
export function createSharedBreaker(
  first: string,
  { leaseMs = 5_000, ...options }: SharedBreakerOptions,
  needs: { readonly clock: Clock; readonly sharing: Pick<Sharing, 'join'> },
): SharedBreaker {
  const { clock, sharing } = needs;
  const renewMs = leaseMs / renewals;
  const breaker = createBreaker(options, clock);
  let key = first;
  let membership = sharing.join(key, breaker);
  let isOver = false;
  const told = breaker.changed(({ origin, state }) => {
    if (origin === 'operator' || (origin === 'calls' && state !== 'half_open')) membership.tell();
  });

  async function trial(): Promise<Permit | Refusal> {
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
    function over(): void {
      timer[Symbol.dispose]();
      lease.release();
    }
    return {
      kind: 'permit',
      trial: true,
      get current() {
        return permit.current;
      },
      succeeded() {
        permit.succeeded();
        over();
      },
      failed(why) {
        permit.failed(why);
        over();
      },
      cancelled() {
        permit.cancelled();
        over();
      },
    };
  }

  return {
    get state() {
      return breaker.state;
    },
    changed: breaker.changed,
    snapshot: () => breaker.snapshot(),
    admit: () => breaker.admit(),
    trial,
    reset: () => breaker.reset(),
    rekey(next) {
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

/** A decision as hubs exchange it. */
export type Decision = Standing & {
  /** Grows with each decision on a key in any hub: the greatest one is the latest. */
  readonly epoch: number;
};
