import type { ServerConfig } from '#config';
import { type Clock, type JsonObject, HubError } from '#core';
import { type Permit, type BreakerRefusal, type SharedBreaker, createBulkhead } from '#resilience';
import { isHalted } from './failures.ts';

/** Permission for a call, returned when the call is over. Several calls may share one permit. */
export type CallPermit = {
  /** How long the call waited for its permit, in milliseconds. */
  readonly waitedMs: number;
  /**
   * Returns the permit, once per call. `error` is the error of the call; `wasSent` is true if the server had received
   * the call.
   */
  over(error: unknown, wasSent: boolean): void;
};

/** A call that waits for its permit, and a function to cancel the wait. */
type Waiting = {
  readonly permit: Promise<CallPermit>;
  /** Ends the wait: the promise of the permit rejects with HUB_CALL_CANCELLED. */
  cancel(): void;
};

/** Admits calls to one server: up to its maximum at once, and none while its breaker is open. */
export type ServerAdmission = ReturnType<typeof createAdmission>;

type Bounds = Pick<
  ServerConfig,
  'name' | 'maxConcurrentCalls' | 'maxQueuedCalls' | 'callTimeoutMs'
>;
type BreakerOf = Pick<ServerConfig, 'name' | 'origin'>;

type AdmissionNeeds = {
  readonly clock: Clock;
  readonly breaker: SharedBreaker | undefined;
  /** Starts a failed server for the trial call of a half-open breaker. */
  readonly revive: () => void;
};

export function createAdmission(config: Bounds, { clock, breaker, revive }: AdmissionNeeds) {
  let bounds = config;
  const bulkhead = createBulkhead({ server: config.name, ...limitsOf(config) }, clock);
  /** The last error that was counted as a failure: it fails all calls of a server at once, but counts once. */
  let counted: unknown;
  /** The last permit. All calls share it while the breaker is closed. */
  let usual: ReturnType<typeof createPermit> | undefined;
  let isClosed = false;

  function count(breakerPermit: Permit, error: unknown, wasSent: boolean): void {
    if (error === undefined) breakerPermit.succeeded();
    else if (!isFailure(error, wasSent) || counted === error) breakerPermit.cancelled();
    else {
      counted = error;
      breakerPermit.failed(error.message);
    }
  }

  function createPermit(breakerPermit: Permit | undefined, waitedMs = 0) {
    return {
      breakerPermit,
      waitedMs,
      over(error: unknown, wasSent: boolean): void {
        // The outcome is counted before a waiting call takes the free place: the error may open the breaker.
        if (breakerPermit && !isClosed) count(breakerPermit, error, wasSent);
        bulkhead.leave();
      },
    };
  }

  function permitOf(breakerPermit: Permit | undefined): CallPermit {
    if (!usual || usual.breakerPermit !== breakerPermit) usual = createPermit(breakerPermit);
    return usual;
  }

  function refuse({ retryAfterMs, why, failures }: Omit<BreakerRefusal, 'kind'>): HubError {
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
    return new HubError(
      'HUB_BREAKER_OPEN',
      `${bounds.name} is not called for now: ${failures} calls in a row failed, the last with ${why}. Try again in ${seconds} s`,
      { data: { server: bounds.name, retryable: true, retryAfterMs } },
    );
  }

  async function queue(
    owner: string,
    breakerPermit: Permit | undefined,
    signal: AbortSignal,
  ): Promise<CallPermit> {
    const since = clock.monotonic();
    try {
      await bulkhead.wait(owner, bounds.callTimeoutMs, signal);
      return createPermit(breakerPermit, clock.monotonic() - since);
    } catch (error) {
      breakerPermit?.cancelled();
      throw error;
    }
  }

  async function enterOnTrial(
    open: SharedBreaker,
    owner: string,
    signal: AbortSignal,
  ): Promise<CallPermit> {
    const breakerPermit = await open.trial();
    if (breakerPermit.kind === 'refused') throw refuse(breakerPermit);
    revive();
    return bulkhead.enter() ? permitOf(breakerPermit) : await queue(owner, breakerPermit, signal);
  }

  function waitFor(begin: (signal: AbortSignal) => Promise<CallPermit>): Waiting {
    const given = new AbortController();
    return { permit: begin(given.signal), cancel: () => given.abort() };
  }

  const heard = breaker?.changed(({ state, until = 0, why = '', failures }) => {
    // Waiting calls are refused, as they would be sent to a server whose breaker is open.
    if (state === 'open')
      bulkhead.refuseWaiting(refuse({ retryAfterMs: until - clock.now(), why, failures }));
  });

  return {
    /**
     * Returns a permit for a call of this owner, at once if there is room and the breaker is closed, otherwise after a
     * wait; places are shared fairly among the waiting owners. Throws, or rejects with, HUB_BREAKER_OPEN,
     * HUB_SERVER_BUSY and HUB_CALL_CANCELLED.
     */
    enter(owner: string): CallPermit | Waiting {
      const admitted = breaker?.admit();
      if (breaker && admitted?.kind === 'trial')
        return waitFor(signal => enterOnTrial(breaker, owner, signal));
      if (admitted?.kind === 'refused') throw refuse(admitted);
      const breakerPermit = admitted?.kind === 'permit' ? admitted : undefined;
      return bulkhead.enter()
        ? permitOf(breakerPermit)
        : waitFor(signal => queue(owner, breakerPermit, signal));
    },
    /**
     * Applies the limits of another config. Running calls count towards them; waiting calls keep their place. A config
     * with another launch has another breaker.
     */
    configure(next: Bounds & BreakerOf): void {
      bounds = next;
      breaker?.rekey(breakerKeyOf(next));
      bulkhead.configure(limitsOf(next));
    },
    /** Closes the breaker, because the operator has restarted the server. */
    reset: (): void => breaker?.reset(),
    snapshot: () => ({ ...bulkhead.snapshot(), breaker: breaker && describe(breaker) }),
    close(): void {
      isClosed = true;
      heard?.[Symbol.dispose]();
      breaker?.[Symbol.dispose]();
    },
  };
}

const limitsOf = ({ maxConcurrentCalls, maxQueuedCalls }: Bounds) => ({
  maxConcurrent: maxConcurrentCalls,
  maxQueued: maxQueuedCalls,
});

/**
 * Returns the key of a server's breaker. Hubs share a breaker if their servers have the same name and the same launch,
 * as written in the entry: replicas of a hub share it even if variables, folders and limits differ, unrelated servers
 * of the same name do not. Entries written differently have different keys, which errs on the safe side.
 */
export const breakerKeyOf = ({ name, origin }: BreakerOf): string =>
  origin === undefined ? name : `${name}:${origin}`;

/**
 * True for timeouts and broken connections. Error responses, unsent calls and stops by the hub do not count as
 * failures.
 */
function isFailure(error: unknown, wasSent: boolean): error is HubError {
  if (!(error instanceof HubError)) return false;
  const { code } = error;
  if (code === 'HUB_CALL_TIMEOUT' || code === 'HUB_SERVER_START_FAILED') return true;
  const isBroken = code === 'HUB_SERVER_DOWN' || code === 'HUB_REMOTE_UNREACHABLE';
  return isBroken && wasSent && !isHalted(error);
}

function describe(breaker: SharedBreaker): JsonObject {
  const { state, at, until, why, failures } = breaker.snapshot();
  return {
    state,
    since: new Date(at).toISOString(),
    failures,
    ...(until !== undefined && { retry_at: new Date(until).toISOString() }),
    ...(why !== undefined && { why }),
  };
}
