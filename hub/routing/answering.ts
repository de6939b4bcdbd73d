import { type Clock, HubError, type Log } from '#core';
import type { Principal } from '#policy';
import {
  type Reply,
  type Request,
  errorAnswer,
  metaKeys,
  rawText,
  readMessage,
  stringAt,
} from '#rpc';
import type { Tracer } from '#telemetry';
import { type Call, needInitialized, readCall } from './call.ts';
import type { MethodNeeds } from './method.ts';
import { methodOf } from './methods/method-of.ts';
import { type Observer, createClientNames, nameOf, serverMsOf } from './observer.ts';
import { createRequestIds } from './request-ids.ts';
import type { Exchange, SessionState } from './session.ts';
import { noteError, traceparentIn } from './trace.ts';

/** Answers requests, whatever comes of them. */
export interface Answering {
  /** The bytes of the answer: exactly one, and never a rejection. */
  answer(
    request: Request,
    session: SessionState,
    exchange: Exchange,
    principal: Principal,
  ): Promise<Reply>;
  /** Requests that are being answered, without those that only listen. */
  readonly inFlight: number;
  /** From now on what is cancelled was cancelled because the hub stops. */
  stop(): void;
}

export type AnsweringNeeds = {
  readonly log: Log;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly newId: () => string;
  /** Absent: nobody wants to know. */
  readonly observer?: Observer;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
};

export function createAnswering(methodNeeds: MethodNeeds, needs: AnsweringNeeds): Answering {
  const { clock, observer, tracer } = needs;
  const clientOf = createClientNames();
  const ids = createRequestIds(needs);
  const epochMs = createEpoch(clock);
  let answering = 0;
  let isStopping = false;

  /** Without `async`, as is all on the way of a call: each such frame costs half a kilobyte of memory. */
  function answer(
    request: Request,
    session: SessionState,
    exchange: Exchange,
    principal: Principal,
  ): Promise<Reply> {
    const sinceMs = clock.monotonic();
    let call: Call | undefined;
    const failed = (cause: unknown) => {
      const error = known(request, call, cause);
      const reply = errorAnswer(rawText(request.bytes, request.id), error);
      const written = call?.trace && readMessage(reply);
      if (call && written?.kind === 'answer') noteError(call, written);
      observe(request, session, principal, call, sinceMs, error.code, reply);
      return reply;
    };
    try {
      call = readCall(request, session, exchange, principal, clock);
      if (tracer) call.trace = traced(tracer, call, sinceMs);
      needInitialized(call);
      const {
        id,
        session: { inFlight },
      } = call;
      if (inFlight.has(id))
        throw new HubError('HUB_REQUEST_INVALID', `the id ${id} is in use by a request in flight`);
      const answered = methodOf(call)(call, methodNeeds);
      if (!(answered instanceof Promise)) {
        observe(request, session, principal, call, sinceMs, call.outcome, answered);
        return Promise.resolve(answered);
      }
      inFlight.set(id, call);
      const isCounted = request.method !== listening;
      if (isCounted) answering++;
      const begun = call;
      const over = (error: unknown) => {
        if (isCounted) answering--;
        inFlight.delete(id);
        begun.leave?.over(error, begun.wasSent);
      };
      return answered.then(
        reply => {
          over(undefined);
          observe(request, session, principal, begun, sinceMs, begun.outcome, reply);
          return reply;
        },
        (error: unknown) => {
          over(error);
          return failed(error);
        },
      );
    } catch (error) {
      call?.leave?.over(error, call.wasSent);
      return Promise.resolve(failed(error));
    }
  }

  function observe(
    request: Request,
    session: SessionState,
    principal: Principal,
    call: Call | undefined,
    sinceMs: number,
    outcome: string,
    reply: Reply,
  ): void {
    const { method } = request;
    if (!observer || method === listening) return;
    const nowMs = clock.monotonic();
    const tookMs = nowMs - sinceMs;
    observer({
      method,
      name: nameOf(request, call),
      server: call?.server,
      session: session.key,
      principal,
      client: clientOf(session, request, call?.meta),
      at: epochMs(nowMs) + sinceMs,
      tookMs,
      serverMs: call ? serverMsOf(call, nowMs) : 0,
      outcome,
      request: request.bytes,
      reply,
      trace: call?.trace,
    });
  }

  function known(request: Request, call: Call | undefined, error: unknown): HubError {
    if (!(error instanceof HubError)) return ids.bug(error, request);
    return isStopping && error.code === 'HUB_CALL_CANCELLED'
      ? stopping(error)
      : ids.failed(error, request, call);
  }

  return {
    answer,
    get inFlight() {
      return answering;
    },
    stop() {
      isStopping = true;
    },
  };
}

const traced = (
  tracer: Tracer,
  { request, id, meta, era, session, exchange }: Call,
  beganMs: number,
) =>
  tracer({
    traceparent: traceparentIn(request, meta),
    httpTraceparent: exchange.traceparent,
    requestId: id,
    protocolVersion:
      era === 'modern'
        ? stringAt(request.bytes, meta?.get(metaKeys.protocolVersion))
        : session.protocolVersion,
    beganMs,
  });

const listening = 'subscriptions/listen';

/** How long what is between the two clocks is taken to stay the same, in milliseconds. */
const epochFreshMs = 1_000;

/** When the monotonic clock was at 0: looked up no more than once a second. */
function createEpoch(clock: AnsweringNeeds['clock']): (nowMs: number) => number {
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

/** What is cancelled because the hub stops is nothing that its client has cancelled. */
const stopping = ({ message, data }: HubError) =>
  new HubError('HUB_SHUTTING_DOWN', message, { data: { ...data, retryable: true } });
