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
  | { readonly kind: 'won' | 'unknown'; release(): void }
  | { readonly kind: 'lost'; readonly retryAfterMs: number };

/** One breaker among those of the same key in other hubs. Disposing leaves them. */
export interface Membership extends Disposable {
  /** Says that this hub has just decided. Never waits, and keeps no more than the latest decision. */
  tell(): void;
  /** Asks for the trial, for `trialMs` at most. Resolves within a short deadline and never rejects. */
  claim(trialMs: number): Promise<Claim>;
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

/** A breaker that opens and closes with those of the same key in other hubs. */
export interface SharedBreaker extends Omit<Breaker, 'claim' | 'adopt' | 'postpone' | 'standing'> {
  /**
   * Leave to try the server, where `admit` says that a trial is needed: among all hubs, one call has it.
   * The only thing that waits for another machine, and not for long.
   */
  trial(): Promise<Permit | Refusal>;
}

/** A breaker under a key that is the same in all hubs. Disposing leaves the others as they are. */
export function createSharedBreaker(
  key: string,
  options: BreakerOptions,
  needs: { readonly clock: Clock; readonly sharing: Pick<Sharing, 'join'> },
): SharedBreaker {
  const breaker = createBreaker(options, needs.clock);
  const membership = needs.sharing.join(key, breaker);
  const told = breaker.changed(({ origin, state }) => {
    if (origin === 'operator' || (origin === 'calls' && state !== 'half_open')) membership.tell();
  });

  async function trial(): Promise<Permit | Refusal> {
    const permit = breaker.claim();
    if (permit.kind === 'refused' || !permit.trial) return permit;
    const claim = await membership.claim(options.trialMs);
    if (claim.kind === 'lost') {
      permit.cancelled();
      // It may be cancelled there, of which nobody tells: asked again before it can have run out.
      breaker.postpone(Math.min(claim.retryAfterMs, trialRetryMs));
    } else if (permit.current) {
      return releasing(permit, () => claim.release());
    } else {
      claim.release();
    }
    const admission = breaker.admit();
    if (admission.kind !== 'trial') return admission;
    const { why, failures } = breaker.standing();
    return { kind: 'refused', retryAfterMs: 1, why, failures };
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
    [Symbol.dispose]() {
      told[Symbol.dispose]();
      membership[Symbol.dispose]();
      breaker[Symbol.dispose]();
    },
  };
}

/** The permit of a trial that gives the trial back to all hubs, after they know its outcome. */
function releasing(permit: Permit, release: () => void): Permit {
  return {
    kind: 'permit',
    trial: true,
    get current() {
      return permit.current;
    },
    succeeded() {
      permit.succeeded();
      release();
    },
    failed(why) {
      permit.failed(why);
      release();
    },
    cancelled() {
      permit.cancelled();
      release();
    },
  };
}

/** A decision as it travels between hubs. */
export type Decision = Standing & {
  /** Grows with every decision on a key, wherever it is made: the greater one is the later one. */
  readonly epoch: number;
};
