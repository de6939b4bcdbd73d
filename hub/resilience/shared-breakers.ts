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

/** How breakers of this hub stand with those of others. */
export type SharingStatus =
  /** There is nobody to share with. */
  | { readonly kind: 'alone' }
  | { readonly kind: 'shared'; readonly since: number }
  /** Each hub decides by itself until this is over. `since` is in milliseconds since the epoch. */
  | { readonly kind: 'degraded'; readonly since: number; readonly reason: string };

/** What a claim on the one trial of all hubs came to. */
export type Claim =
  /** `unknown`: no answer in time, so this hub decides alone. */
  | ({ readonly kind: 'won' | 'unknown' } & Lease)
  /** Another hub has it for `leftMs` more, or longer if it renews it. */
  | { readonly kind: 'lost'; readonly leftMs: number };

/** A hub's hold on the one trial of all. Nothing of it waits or fails, and another's hold it leaves alone. */
export interface Lease {
  /** Has it end as much later as it was claimed for, and takes it again where nobody has it any more. */
  renew(): void;
  release(): void;
}

/** One breaker among those of the same key in other hubs. Disposing leaves them. */
export interface Membership extends Disposable {
  /** Says that this hub has just decided. Never waits, and keeps no more than the latest decision. */
  tell(): void;
  /** Asks for the trial, for `leaseMs`. Resolves within a short deadline and never rejects. */
  claim(leaseMs: number): Promise<Claim>;
}

/** Where breakers of several hubs meet. */
export interface Sharing {
  readonly status: SharingStatus;
  readonly changed: Event<SharingStatus>;
  /**
   * Goes there and reads what is there for those that have joined. Resolves when that is done, or after
   * a deadline, for what it goes there for can do without; never rejects.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Brings a breaker together with all of that key. It hears of later decisions by `adopt`. */
  join(key: string, breaker: Pick<Breaker, 'adopt' | 'standing'>): Membership;
}

export type SharedBreakerOptions = Omit<BreakerOptions, 'trialMs'> & {
  /**
   * So long other hubs leave the trial to one that does not renew it, as it is dead or cut off; 5 s unless
   * given. A trial itself may take as long as it takes.
   */
  readonly leaseMs?: number;
};

/** A breaker that opens and closes with those of the same key in other hubs. */
export interface SharedBreaker extends Omit<Breaker, 'claim' | 'adopt' | 'postpone' | 'standing'> {
  /**
   * Has it meet those of another key from here on, and closes it unless one of them is open; without
   * effect where it meets them already. Those that it leaves stay as they are.
   */
  rekey(key: string): void;
  /**
   * Leave to try the server, where `admit` says that a trial is needed: among all hubs, one call has it.
   * The only thing that waits for another machine, and not for long.
   */
  trial(): Promise<Permit | Refusal>;
}

/** A lease is renewed as often as this while it lasts. */
const renewals = 5;
/** Whoever has missed this many renewals is taken for dead. */
const missed = 2;

/** A breaker under a key that is the same in all hubs. Disposing leaves the others as they are. */
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
      // It may be cancelled there, of which nobody tells: asked again before it can have run out. What
      // nobody renews any more is free when it has.
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

  /** The permit of a trial, which is this hub's until all know its outcome. */
  function renewed(permit: Permit, lease: Lease): Permit {
    let timer = clock.after(renewMs, renew);
    function renew(): void {
      // What was decided meanwhile by another or by hand needs no outcome any more.
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
      // Nobody is told: it says nothing of the one that they go on with, nor of the one that they have.
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

/** A decision as it travels between hubs. */
export type Decision = Standing & {
  /** Grows with every decision on a key, wherever it is made: the greater one is the later one. */
  readonly epoch: number;
};
