import { type Clock, createEmitter } from '#core';

type BreakerState = 'closed' | 'open' | 'half_open';

export type BreakerOptions = {
  readonly failureThreshold: number;
  /** Time in ms from the opening of the breaker to the first trial call. */
  readonly recoveryMs: number;
  /** Timeout of a trial in ms, after which another call may be the trial; none by default. */
  readonly trialMs?: number;
};

/** State of a breaker. Times are in milliseconds since the epoch. */
type BreakerSnapshot = {
  readonly state: BreakerState;
  readonly at: number;
  /** Time of the next trial; undefined unless the breaker is open. */
  readonly until: number | undefined;
  /** Message of the failure that opened the breaker; undefined while closed. */
  readonly why: string | undefined;
  readonly failures: number;
};

export type BreakerChange = BreakerSnapshot & {
  readonly from: BreakerState;
  /** Cause of the change: `calls` of this hub, `others` (other hubs), an `operator`, or `time` that has passed. */
  readonly origin: 'calls' | 'others' | 'operator' | 'time';
};

/** State of a breaker as hubs exchange it: with durations instead of times, because their clocks differ. */
export type Standing = {
  readonly state: 'closed' | 'open';
  /** Time in ms until the next trial; 0 if a trial is due, and while closed. */
  readonly remainingMs: number;
  readonly failures: number;
  readonly why: string;
};

/** Permit for one call. The caller must call exactly one of its three methods when the call ends. */
export interface Permit {
  readonly kind: 'permit';
  /** True for the trial call, whose outcome decides whether the breaker closes. */
  readonly trial: boolean;
  /** False if the breaker has changed since the permit was issued: the outcome of the call no longer counts. */
  readonly current: boolean;
  /** Reports that the server answered, possibly with an error of a tool. */
  succeeded(): void;
  /** Reports that the server did not answer in time, or that the connection broke. */
  failed(why: string): void;
  /** Reports that the client cancelled the call, which says nothing about the server. Another call may be the trial. */
  cancelled(): void;
}

export type BreakerRefusal = {
  readonly kind: 'refused';
  /** Time in ms until a retry may succeed, at least 1. */
  readonly retryAfterMs: number;
  readonly why: string;
  readonly failures: number;
};

/** Result of `admit` if the breaker needs a trial call: `claim` issues the permit for it. */
type TrialNeeded = { readonly kind: 'trial' };

/** Circuit breaker of one server. */
export type Breaker = ReturnType<typeof createBreaker>;

/** Maximum `retryAfterMs` in ms of calls that are refused during a trial. */
export const trialRetryMs = 1_000;

type Closed = { readonly state: 'closed'; readonly permit: Permit; failures(): number };
type Failed = { readonly why: string; readonly failures: number };
type Open = Failed & { readonly state: 'open'; readonly due: number; readonly timer: Disposable };
type HalfOpen = Failed &
  TrialNeeded & { readonly state: 'half_open'; trial: Trial | undefined; postponedUntil: number };
type Trial = { readonly due: number; readonly timer: Disposable };

/** Creates a closed breaker. Disposing it stops its timers; it must not be used afterwards. */
export function createBreaker(options: BreakerOptions, clock: Clock) {
  const { event, fire } = createEmitter<BreakerChange>();
  const { trialMs = Infinity } = options;
  let phase: Closed | Open | HalfOpen = closedPhase();
  let since = clock.now();

  function closedPhase(): Closed {
    let failures = 0;
    // One permit serves all calls while the breaker stays closed. A permit of an earlier phase belongs to another
    // object.
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
    const last = { why, failures, trial: undefined, postponedUntil: 0 };
    enter({ kind: 'trial', state: 'half_open', ...last }, origin);
  }

  /** Decides about one call: a permit, a refusal, or that a trial is needed. Allocates nothing while closed. */
  function admit(): Permit | HalfOpen | BreakerRefusal {
    if (phase.state === 'closed') return phase.permit;
    const now = clock.monotonic();
    if (phase.state === 'open') {
      if (now < phase.due) return refusal(phase, phase.due - now);
      // The timer may be late on a busy machine, so the breaker becomes half open here.
      halfOpen(phase, 'time');
      return admit();
    }
    if (phase.trial) return refusal(phase, Math.min(trialRetryMs, phase.trial.due - now));
    if (now < phase.postponedUntil) return refusal(phase, phase.postponedUntil - now);
    return phase;
  }

  /** Like `admit`, but makes the call the trial if a trial is needed. */
  function claim(): Permit | BreakerRefusal {
    const tried = admit();
    if (tried.kind !== 'trial') return tried;
    const isCurrent = () => phase === tried && tried.trial === own;
    const free = () => {
      if (!isCurrent()) return;
      own.timer[Symbol.dispose]();
      tried.trial = undefined;
    };
    const own: Trial = { due: clock.monotonic() + trialMs, timer: clock.after(trialMs, free) };
    tried.trial = own;
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

  const leftMs = ({ due }: Open) => Math.max(0, due - clock.monotonic());

  function snapshot(): BreakerSnapshot {
    const { state } = phase;
    const until = phase.state === 'open' ? clock.now() + leftMs(phase) : undefined;
    if (phase.state === 'closed')
      return { state, at: since, until, why: undefined, failures: phase.failures() };
    return { state, at: since, until, why: phase.why, failures: phase.failures };
  }

  return {
    get state(): BreakerState {
      return phase.state;
    },
    changed: event,
    snapshot,
    admit,
    claim,
    /** Delays the trial by some ms, because another hub makes one. Has no effect unless the breaker is half open. */
    postpone(milliseconds: number): void {
      if (phase.state === 'half_open') phase.postponedUntil = clock.monotonic() + milliseconds;
    },
    /** Closes the breaker. Call this when the server has a new instance. */
    reset: () => enter(closedPhase(), 'operator'),
    /** Applies a later decision of another hub to this breaker. */
    adopt({ state, remainingMs, why, failures }: Standing): void {
      if (state === 'open' && remainingMs > 0) open({ why, failures }, remainingMs, 'others');
      else if (state === 'open') halfOpen({ why, failures }, 'others');
      else if (phase.state !== 'closed') enter(closedPhase(), 'others');
    },
    /** Returns the state for other hubs. Half open is reported as open with no time remaining. */
    standing(): Standing {
      if (phase.state === 'closed')
        return { state: 'closed', remainingMs: 0, failures: 0, why: '' };
      const remainingMs = phase.state === 'open' ? leftMs(phase) : 0;
      return { state: 'open', remainingMs, failures: phase.failures, why: phase.why };
    },
    [Symbol.dispose]: stopTimers,
  };
}

function refusal({ why, failures }: Failed, milliseconds: number): BreakerRefusal {
  return { kind: 'refused', retryAfterMs: Math.max(1, Math.ceil(milliseconds)), why, failures };
}
