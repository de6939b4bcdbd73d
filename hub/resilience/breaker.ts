import { type Clock, type Event, createEmitter } from '#core';

export type BreakerState = 'closed' | 'open' | 'half_open';

export type BreakerOptions = {
  /** As many failures in a row open the breaker. */
  readonly failureThreshold: number;
  /** So long it stays open before a call is let through on trial. */
  readonly recoveryMs: number;
  /**
   * A trial without an outcome for this long is given up, and the next call may try. Unless given it may
   * take as long as it takes.
   */
  readonly trialMs?: number;
};

/** What a breaker shows of itself; times are milliseconds since the epoch. */
export type BreakerSnapshot = {
  readonly state: BreakerState;
  /** Since when. */
  readonly at: number;
  /** When the next trial is let through; only while open. */
  readonly until: number | undefined;
  /** The failure that opened it last, in words; undefined while closed. */
  readonly why: string | undefined;
  /** Failures in a row. */
  readonly failures: number;
};

export type BreakerChange = BreakerSnapshot & {
  readonly from: BreakerState;
  /** Who brought it about: calls of this hub, other hubs, a person, or nobody but time. */
  readonly origin: 'calls' | 'others' | 'operator' | 'time';
};

/** What hubs tell each other of a breaker, in durations: their clocks differ. */
export type Standing = {
  readonly state: 'closed' | 'open';
  /** Until the next trial; 0 where it is due, and while closed. */
  readonly remainingMs: number;
  readonly failures: number;
  readonly why: string;
};

/** Leave to make one call. Exactly one of the three is called when the call is over. */
export interface Permit {
  readonly kind: 'permit';
  /** True for the one call that decides whether the breaker closes. */
  readonly trial: boolean;
  /** False once the breaker has changed since: the outcome no longer counts. */
  readonly current: boolean;
  /** The server answered, be it with a tool's own error. */
  succeeded(): void;
  /** The server did not answer in time, or the way to it broke. */
  failed(why: string): void;
  /** The client gave the call up: it says nothing about the server, and frees the trial. */
  cancelled(): void;
}

export type Refusal = {
  readonly kind: 'refused';
  /** At least 1. */
  readonly retryAfterMs: number;
  readonly why: string;
  readonly failures: number;
};

/** The server is to be tried: `claim` has the permit for it. */
export type TrialNeeded = { readonly kind: 'trial' };

/** Decides for one server, by itself and at once, whether a call may be made. */
export interface Breaker extends Disposable {
  readonly state: BreakerState;
  readonly changed: Event<BreakerChange>;
  snapshot(): BreakerSnapshot;
  /** Whether a call may be made now. Allocates nothing while closed. */
  admit(): Permit | TrialNeeded | Refusal;
  /** As `admit`, but takes the trial where one is needed. */
  claim(): Permit | Refusal;
  /** No trial for so long, as another hub makes one; without effect unless half open. */
  postpone(milliseconds: number): void;
  /** Closes it, by the hand of whoever knows that the server is new. */
  reset(): void;
  /** Takes over what another hub has decided later than this one. */
  adopt(standing: Standing): void;
  /** What other hubs should know; half open is open without remaining time. */
  standing(): Standing;
}

/** While somebody else tries the server, a call is sent away for this long at most. */
export const trialRetryMs = 1_000;

type Closed = { readonly state: 'closed'; readonly permit: Permit; failures(): number };
type Failed = { readonly why: string; readonly failures: number };
type Open = Failed & { readonly state: 'open'; readonly due: number; readonly timer: Disposable };
type HalfOpen = Failed &
  TrialNeeded & { readonly state: 'half_open'; trial: Trial | undefined; postponedUntil: number };
type Trial = { readonly due: number; readonly timer: Disposable };

/** A breaker that is closed. Disposing stops its timers; it decides no more after that. */
export function createBreaker(options: BreakerOptions, clock: Clock): Breaker {
  const { event, fire } = createEmitter<BreakerChange>();
  const { trialMs = Infinity } = options;
  let phase: Closed | Open | HalfOpen = closedPhase();
  let since = clock.now();

  function closedPhase(): Closed {
    let failures = 0;
    // One permit serves every call of a closed phase; those of an earlier one are stale by identity.
    const own: Closed = {
      state: 'closed',
      failures: () => failures,
      permit: {
        kind: 'permit',
        trial: false,
        get current() {
          return phase === own;
        },
        succeeded() {
          failures = 0;
        },
        failed(why) {
          if (phase !== own) return;
          failures += 1;
          if (failures >= options.failureThreshold)
            open({ why, failures }, options.recoveryMs, 'calls');
        },
        cancelled() {},
      },
    };
    return own;
  }

  function enter(next: typeof phase, origin: BreakerChange['origin']): void {
    const from = phase.state;
    stopTimers();
    phase = next;
    since = clock.now();
    fire({ ...snapshot(), from, origin });
  }

  function stopTimers(): void {
    if (phase.state === 'open') phase.timer[Symbol.dispose]();
    else if (phase.state === 'half_open') phase.trial?.timer[Symbol.dispose]();
  }

  function open(last: Failed, remainingMs: number, origin: BreakerChange['origin']): void {
    const next: Open = {
      ...last,
      state: 'open',
      due: clock.monotonic() + remainingMs,
      timer: clock.after(remainingMs, () => {
        if (phase === next) halfOpen(next, 'time');
      }),
    };
    enter(next, origin);
  }

  function halfOpen({ why, failures }: Failed, origin: BreakerChange['origin']): void {
    const next: HalfOpen = {
      kind: 'trial',
      state: 'half_open',
      why,
      failures,
      trial: undefined,
      postponedUntil: 0,
    };
    enter(next, origin);
  }

  function admit(): Permit | HalfOpen | Refusal {
    if (phase.state === 'closed') return phase.permit;
    const now = clock.monotonic();
    if (phase.state === 'open') {
      if (now < phase.due) return refusal(phase, phase.due - now);
      // The timer may be late on a busy machine.
      halfOpen(phase, 'time');
      return admit();
    }
    if (phase.trial) return refusal(phase, Math.min(trialRetryMs, phase.trial.due - now));
    if (now < phase.postponedUntil) return refusal(phase, phase.postponedUntil - now);
    return phase;
  }

  function claim(): Permit | Refusal {
    const tried = admit();
    if (tried.kind !== 'trial') return tried;
    const own: Trial = {
      due: clock.monotonic() + trialMs,
      timer: clock.after(trialMs, () => free()),
    };
    tried.trial = own;
    const isCurrent = () => phase === tried && tried.trial === own;
    const free = () => {
      if (!isCurrent()) return;
      own.timer[Symbol.dispose]();
      tried.trial = undefined;
    };
    return {
      kind: 'permit',
      trial: true,
      get current() {
        return isCurrent();
      },
      succeeded() {
        if (isCurrent()) enter(closedPhase(), 'calls');
      },
      failed(why) {
        if (isCurrent()) open({ why, failures: tried.failures + 1 }, options.recoveryMs, 'calls');
      },
      cancelled: free,
    };
  }

  function snapshot(): BreakerSnapshot {
    return {
      state: phase.state,
      at: since,
      until:
        phase.state === 'open'
          ? clock.now() + Math.max(0, phase.due - clock.monotonic())
          : undefined,
      why: phase.state === 'closed' ? undefined : phase.why,
      failures: phase.state === 'closed' ? phase.failures() : phase.failures,
    };
  }

  return {
    get state() {
      return phase.state;
    },
    changed: event,
    snapshot,
    admit,
    claim,
    postpone(milliseconds) {
      if (phase.state === 'half_open') phase.postponedUntil = clock.monotonic() + milliseconds;
    },
    reset() {
      enter(closedPhase(), 'operator');
    },
    adopt({ state, remainingMs, why, failures }) {
      if (state === 'open' && remainingMs > 0) open({ why, failures }, remainingMs, 'others');
      else if (state === 'open') halfOpen({ why, failures }, 'others');
      else if (phase.state !== 'closed') enter(closedPhase(), 'others');
    },
    standing() {
      if (phase.state === 'closed')
        return { state: 'closed', remainingMs: 0, failures: 0, why: '' };
      const remainingMs = phase.state === 'open' ? Math.max(0, phase.due - clock.monotonic()) : 0;
      return { state: 'open', remainingMs, failures: phase.failures, why: phase.why };
    },
    [Symbol.dispose]: stopTimers,
  };
}

function refusal({ why, failures }: Failed, milliseconds: number): Refusal {
  return { kind: 'refused', retryAfterMs: Math.max(1, Math.ceil(milliseconds)), why, failures };
}
