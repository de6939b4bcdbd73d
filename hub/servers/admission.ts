import type { ServerConfig } from '#config';
import { type Clock, type JsonObject, HubError } from '#core';
import {
  type Bulkhead,
  type BulkheadSnapshot,
  type Permit,
  type Refusal,
  type SharedBreaker,
  createBulkhead,
} from '#resilience';
import { type BreakerOf, breakerKeyOf } from './breaker-key.ts';
import { isHalted } from './failures.ts';

/** Leave for a call, which is given back when the call is over. Calls may have the same one. */
export type Leave = {
  /** How long the call waited for it, in milliseconds. */
  readonly waitedMs: number;
  /**
   * `error` is what came of the call instead of an answer of the server; `wasSent` where the server had
   * got it by then. Called once for each call.
   */
  over(error: unknown, wasSent: boolean): void;
};

/** A call that waits for its leave. */
export type Waiting = {
  readonly leave: Promise<Leave>;
  /** Ends the wait: the leave is rejected with HUB_CALL_CANCELLED. */
  cancel(): void;
};

/** Lets calls through to one server: no more at once than it may have, and none while its breaker is open. */
export interface Gate {
  /**
   * Leave for a call of this owner, among whom the calls that must wait are shared fairly. At once where
   * there is room and the breaker is closed. Throws, or rejects with, HUB_BREAKER_OPEN, HUB_SERVER_BUSY and
   * HUB_CALL_CANCELLED.
   */
  enter(owner: string): Leave | Waiting;
  /** Has the bounds of another config in force for calls that come; what it launches has a breaker of its own. */
  configure(config: GateConfig): void;
  /** Closes the breaker: the operator has started the server anew. */
  reset(): void;
  snapshot(): BulkheadSnapshot & { readonly breaker: JsonObject | undefined };
  /** Forgets its breaker. */
  close(): void;
}

type Bounds = Pick<
  ServerConfig,
  'name' | 'maxConcurrentCalls' | 'maxQueuedCalls' | 'callTimeoutMs'
>;
type GateConfig = Bounds & BreakerOf;

export type GateNeeds = {
  readonly clock: Clock;
  /** Undefined where none is wanted. */
  readonly breaker: SharedBreaker | undefined;
  /** Has a server run again that was given up: the call on trial is to find it alive. */
  readonly revive: () => void;
};

/** A gate that is open. */
export function createGate(config: Bounds, { clock, breaker, revive }: GateNeeds): Gate {
  let bounds = config;
  let bulkhead = bulkheadOf(bounds);
  /** One failure of a server fails all that it was working on: it counts once. */
  let counted: unknown;
  /** That of the calls that have been let through last: it is the same for all while the breaker is closed. */
  let usual:
    | { readonly from: Bulkhead; readonly permit: Permit | undefined; readonly leave: Leave }
    | undefined;
  let isClosed = false;

  function bulkheadOf({ name, maxConcurrentCalls, maxQueuedCalls }: Bounds): Bulkhead {
    const options = {
      server: name,
      maxConcurrent: maxConcurrentCalls,
      maxQueued: maxQueuedCalls,
    };
    return createBulkhead(options, clock);
  }

  function count(permit: Permit, error: unknown, wasSent: boolean): void {
    if (error === undefined) permit.succeeded();
    else if (!isFailure(error, wasSent) || counted === error) permit.cancelled();
    else {
      counted = error;
      permit.failed(error.message);
    }
  }

  function createLeave(from: Bulkhead, permit: Permit | undefined, waitedMs: number): Leave {
    return {
      waitedMs,
      over(error, wasSent) {
        // Before its place is given on: this may be the call after which nobody is to have it.
        if (permit && !isClosed) count(permit, error, wasSent);
        from.leave();
      },
    };
  }

  function leave(from: Bulkhead, permit: Permit | undefined): Leave {
    if (usual?.from !== from || usual.permit !== permit)
      usual = { from, permit, leave: createLeave(from, permit, 0) };
    return usual.leave;
  }

  function refuse({ retryAfterMs, why, failures }: Omit<Refusal, 'kind'>): HubError {
    const seconds = Math.max(1, Math.ceil(retryAfterMs / 1000));
    return new HubError(
      'HUB_BREAKER_OPEN',
      `${bounds.name} is not called for now: ${failures} calls in a row came to nothing, the last as ${why}. Try again in ${seconds} s`,
      { data: { server: bounds.name, retryable: true, retryAfterMs } },
    );
  }

  async function queue(
    from: Bulkhead,
    owner: string,
    permit: Permit | undefined,
    signal: AbortSignal,
  ): Promise<Leave> {
    const since = clock.monotonic();
    try {
      await from.wait(owner, bounds.callTimeoutMs, signal);
      return createLeave(from, permit, clock.monotonic() - since);
    } catch (error) {
      permit?.cancelled();
      throw error;
    }
  }

  async function enterOnTrial(
    open: SharedBreaker,
    owner: string,
    signal: AbortSignal,
  ): Promise<Leave> {
    const permit = await open.trial();
    if (permit.kind === 'refused') throw refuse(permit);
    revive();
    return bulkhead.enter()
      ? leave(bulkhead, permit)
      : await queue(bulkhead, owner, permit, signal);
  }

  function waitFor(begin: (signal: AbortSignal) => Promise<Leave>): Waiting {
    const given = new AbortController();
    return { leave: begin(given.signal), cancel: () => given.abort() };
  }

  const heard = breaker?.changed(({ state, until = 0, why = '', failures }) => {
    // They would be sent, one after the other, to a server that is not to be called.
    if (state === 'open')
      bulkhead.refuseWaiting(refuse({ retryAfterMs: until - clock.now(), why, failures }));
  });

  return {
    enter(owner) {
      const admitted = breaker?.admit();
      if (breaker && admitted?.kind === 'trial')
        return waitFor(signal => enterOnTrial(breaker, owner, signal));
      if (admitted?.kind === 'refused') throw refuse(admitted);
      const permit = admitted?.kind === 'permit' ? admitted : undefined;
      return bulkhead.enter()
        ? leave(bulkhead, permit)
        : waitFor(signal => queue(bulkhead, owner, permit, signal));
    },
    configure(next) {
      const isSame =
        next.maxConcurrentCalls === bounds.maxConcurrentCalls &&
        next.maxQueuedCalls === bounds.maxQueuedCalls;
      bounds = next;
      breaker?.rekey(breakerKeyOf(next));
      // Calls in the old one leave it as they end.
      if (!isSame) bulkhead = bulkheadOf(next);
    },
    reset: () => breaker?.reset(),
    snapshot: () => ({
      ...bulkhead.snapshot(),
      breaker: breaker && describe(breaker),
    }),
    close() {
      isClosed = true;
      heard?.[Symbol.dispose]();
      breaker?.[Symbol.dispose]();
    },
  };
}

/**
 * Timeouts and broken connections are failures. What a server answers, what it never got, and what the hub
 * took from it by ending it is none.
 */
function isFailure(error: unknown, wasSent: boolean): error is HubError {
  if (!(error instanceof HubError)) return false;
  switch (error.code) {
    case 'HUB_CALL_TIMEOUT':
    case 'HUB_SERVER_START_FAILED':
      return true;
    case 'HUB_SERVER_DOWN':
    case 'HUB_REMOTE_UNREACHABLE':
      return wasSent && !isHalted(error);
    default:
      return false;
  }
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
