import { type Clock, type Log, HubError, retryable } from '#core';
import { type ReplyBytes, errorAnswer, readMessage } from '#jsonrpc';
import { isStateless } from '#mcp';
import { type Decision, type Principal, policyNameOf, principalKey } from '#policy';
import type { Trace } from '#telemetry';
import {
  type Answerer,
  FailedCall,
  type MemberSpans,
  type Reply,
  type ResolvedCall,
  type Step,
  invalidRequest,
} from './call.ts';
import { createClientNames } from './client-identity.ts';
import { createRequestIds } from './request-ids.ts';
import { noteError } from './trace.ts';

/** An answered request of a client. */
export type Observed = {
  readonly method: string;
  /** Name of a tool, prompt or task, or URI of a resource, as in the request; undefined for other methods. */
  readonly name: string | undefined;
  /** The server that the request was for; undefined if the hub answered the request itself. */
  readonly server: string | undefined;
  /** Identifies the session within this run of the hub. A request without a session has its own id. */
  readonly session: string;
  readonly principal: Principal;
  /** Name and version of the client, such as `claude-code 2.1`; undefined if the client gave none. */
  readonly client: string | undefined;
  /** Arrival time, in milliseconds since the epoch. */
  readonly at: number;
  /** Time from arrival at the router to the answer, in milliseconds, not rounded. */
  readonly tookMs: number;
  /** The server's part of `tookMs`: from sending the request to the channel until the answer was read from it. */
  readonly serverMs: number;
  /** `ok`; `tool_error` for a result with `isError`; `error` for an error of the server; or a HubError's code. */
  readonly outcome: string;
  /** The members of the request's params, as spans of `request`. */
  readonly params: MemberSpans;
  /** The whole message as received. The buffer may be overwritten later: copy the bytes to keep them. */
  readonly request: Buffer;
  /** The whole answer as sent. The buffer may be overwritten later, like that of `request`. */
  readonly reply: ReplyBytes;
  /** The decision of the policy about the request; absent if no rule matched the request. */
  readonly decision?: Decision;
  /** The place of the request in a trace; undefined if tracing is off. */
  readonly trace: Trace | undefined;
};

/**
 * Called once for each answered request, in the same turn of the event loop as the answer. Not called for
 * `subscriptions/listen`, whose duration of hours would distort statistics. Must not throw, and must copy the bytes
 * that it needs later.
 */
export type Observer = (call: Observed) => void;

type AnsweringNeeds = {
  readonly log: Log;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly newId: () => string;
  readonly observer?: Observer;
  /** The audit log. Absent: calls are not audited. */
  readonly audit?: AuditGate | undefined;
};

/** The audit log, as used by calls. */
export type AuditGate = {
  /** True if calls of this method must be refused now, because the audit log cannot be written. */
  refuses(method: string): boolean;
  /** Also observes `subscriptions/listen`, when the stream ends. */
  readonly observe: Observer;
};

/** The method of open subscription streams. Only the audit log observes it, and it does not count as in flight. */
const listenMethod = 'subscriptions/listen';

/** A step for some calls only. All other calls skip it. `run` is undefined if the hub never needs the step. */
type StepForSome = {
  readonly concerns: (call: ResolvedCall) => boolean;
  readonly run: Step | undefined;
};

/** Composes the steps into one function; the first step is the outermost. Absent steps cost nothing. */
export function compose(
  steps: readonly (Step | StepForSome | undefined)[],
  last: Answerer,
): Answerer {
  return steps.reduceRight<Answerer>((next, step) => {
    if (typeof step === 'function') return call => step(call, next);
    if (!step?.run) return next;
    const { concerns, run } = step;
    return call => (concerns(call) ? run(call, next) : next(call));
  }, last);
}

/** Runs work, and calls `ended` when it has ended in any way, without delaying its result. */
export function whenEnded<T>(work: () => T | Promise<T>, ended: () => void): T | Promise<T> {
  try {
    const done = work();
    if (done instanceof Promise) void done.then(ended, ended);
    else ended();
    return done;
  } catch (error) {
    ended();
    throw error;
  }
}

/**
 * Answers each call exactly once by `steps`, and registers it in its session until then. Converts errors to replies,
 * and notifies the observer of every reply. A call of MCP 2026-07-28 that its client cancelled gets no answer: over
 * stdio, that revision forbids all further messages about it.
 */
export function createAnswering(steps: Answerer, needs: AnsweringNeeds) {
  const { clock, observer, audit } = needs;
  const clientOf = createClientNames();
  const ids = createRequestIds(needs);
  const epochMs = createEpoch(clock);
  let answering = 0;
  let isStopping = false;

  /** Answers a call. Never throws, and its promise never rejects. */
  function answer(resolved: ResolvedCall): Promise<ReplyBytes | undefined> {
    const { id, session, cancellation, request } = resolved.call;
    const { inFlight } = session;
    let replied: Reply | Promise<Reply>;
    try {
      if (inFlight.has(id)) throw invalidRequest(`the id ${id} is in use by a request in flight`);
      if (audit?.refuses(request.method)) throw unaudited();
      replied = steps(resolved);
    } catch (error) {
      return Promise.resolve(failed(resolved, error));
    }
    if (!(replied instanceof Promise)) return Promise.resolve(observed(resolved, replied));
    const count = request.method === listenMethod ? 0 : 1;
    const end = (bytes: ReplyBytes): ReplyBytes | undefined => {
      answering -= count;
      inFlight.delete(id);
      return cancellation.isByClient && isStateless(resolved.call) ? undefined : bytes;
    };
    inFlight.set(id, cancellation);
    answering += count;
    return replied.then(
      reply => end(observed(resolved, reply)),
      (error: unknown) => end(failed(resolved, error)),
    );
  }

  /** Converts the error of a failed call to its answer. */
  function failed(resolved: ResolvedCall, cause: unknown): ReplyBytes {
    const { id, trace } = resolved.call;
    const isSent = cause instanceof FailedCall;
    const error = describe(resolved, isSent ? cause.error : cause);
    const bytes = errorAnswer(id, error);
    const written = trace && readMessage(bytes);
    if (written?.kind === 'answer') noteError(resolved.call, written);
    const serverMs = isSent ? cause.serverMs : 0;
    return observed(resolved, { bytes, outcome: error.code, serverMs });
  }

  function describe(resolved: ResolvedCall, error: unknown): HubError {
    if (!(error instanceof HubError)) return ids.bug(error, resolved.call.request);
    return isStopping && error.code === 'HUB_CALL_CANCELLED'
      ? stopping(error)
      : ids.failed(error, resolved.call.request, resolved);
  }

  function observed(resolved: ResolvedCall, reply: Reply): ReplyBytes {
    const { call, server, name } = resolved;
    const { request, session, principal, meta, arrivedMs, trace } = call;
    const { method } = request;
    const told = method === listenMethod ? undefined : observer;
    if (!told && !audit) return reply.bytes;
    const nowMs = clock.monotonic();
    const decision = resolved.decision ?? reply.decision;
    const seen: Observed = {
      method,
      name,
      server: server?.config.name,
      session: session.key,
      principal,
      client: clientOf(session, request, meta),
      at: epochMs(nowMs) + arrivedMs,
      tookMs: nowMs - arrivedMs,
      serverMs: reply.serverMs,
      outcome: reply.outcome,
      ...(decision && { decision }),
      request: request.bytes,
      params: call.params,
      reply: reply.bytes,
      trace,
    };
    audit?.observe(seen);
    told?.(seen);
    return reply.bytes;
  }

  return {
    answer,
    /** Converts the error of a call that failed before the first step to its answer. */
    failed,
    /** Number of requests that are being answered, without open subscription streams. */
    get inFlight() {
      return answering;
    },
    /** After this call, cancelled calls are reported as cancelled by the hub's shutdown. */
    stop() {
      isStopping = true;
    },
  };
}

/** Returns the error for a call that was cancelled by the shutdown of the hub, not by its client. */
const stopping = ({ message, data }: HubError) => retryable('HUB_SHUTTING_DOWN', message, data);

/** Returns the error for a call while the audit log cannot be written, if the config requires the log. */
const unaudited = () =>
  retryable(
    'HUB_AUDIT_UNAVAILABLE',
    'the audit log cannot be written, and "audit.on_failure" is "refuse": calls are refused until there is room on the disk of the data folder. GET /health says more',
  );

/** Time in ms for which the offset between the monotonic clock and the wall clock is reused. */
const epochFreshMs = 1_000;

/** Returns the wall-clock time at which the monotonic clock was 0, computed at most once a second. */
function createEpoch(clock: Pick<Clock, 'monotonic' | 'now'>): (nowMs: number) => number {
  let epochMs = 0;
  let knownMs = -Infinity;
  return nowMs => {
    if (nowMs - knownMs > epochFreshMs) {
      epochMs = clock.now() - nowMs;
      knownMs = nowMs;
    }
    return epochMs;
  };
}

/**
 * Maximum total size of the unanswered large requests of one caller, in bytes. Each stays in memory until its answer.
 */
const maxUnansweredBytes = 256 * 2 ** 20;
/** Size in bytes from which a request is large. Smaller requests are not counted: server queues limit their number. */
const largeBytes = 64 * 1024;

/** Creates the step that refuses a large request if the caller's unanswered large requests take up too much memory. */
export function createRequestBytesStep(): Step {
  const byCaller = new Map<string, number>();

  function add(caller: string, bytes: number): void {
    const held = (byCaller.get(caller) ?? 0) + bytes;
    if (held > 0) byCaller.set(caller, held);
    else byCaller.delete(caller);
  }

  return (resolved, next) => {
    const { request, principal } = resolved.call;
    const { length } = request.bytes;
    if (length < largeBytes) return next(resolved);
    const caller = principalKey(principal);
    const held = byCaller.get(caller) ?? 0;
    if (held + length > maxUnansweredBytes) throw tooMuch(principal, held, length);
    add(caller, length);
    return whenEnded(
      () => next(resolved),
      () => add(caller, -length),
    );
  };
}

const tooMuch = (principal: Principal, held: number, length: number) =>
  retryable(
    'HUB_SERVER_BUSY',
    `this request has ${length} bytes, and those of ${JSON.stringify(policyNameOf(principal))} that are not answered have ${held}: the most is ${maxUnansweredBytes} bytes together. Wait for answers, and send it again`,
  );
