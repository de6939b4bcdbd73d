import { type Clock, HubError, type Log } from '#core';
import { type ReplyBytes, errorAnswer, readMessage } from '#jsonrpc';
import type { Tracer } from '#telemetry';
import { type Answerer, type ResolvedCall, FailedCall, type Reply } from './call.ts';
import { type Observer, createClientNames, createEpoch } from './observer.ts';
import { createRequestIds } from './request-ids.ts';
import { noteError, traced } from './trace.ts';

/** Answers each call exactly once, also if the call fails. */
export interface Answering {
  /** The bytes of the answer: exactly one, and never a rejection. */
  answer(call: ResolvedCall): Promise<ReplyBytes>;
  /** The answer to a request that cannot be read. */
  refuse(call: ResolvedCall, error: unknown): ReplyBytes;
  /** Requests that are being answered, without open subscription streams. */
  readonly inFlight: number;
  /** After this call, cancelled calls are reported as cancelled by the hub's shutdown. */
  stop(): void;
}

export type AnsweringNeeds = {
  readonly log: Log;
  readonly clock: Pick<Clock, 'monotonic' | 'now'>;
  readonly newId: () => string;
  /** Absent: no observer. */
  readonly observer?: Observer;
  /** Absent: nothing is traced. */
  readonly tracer?: Tracer;
};

const listening = 'subscriptions/listen';

/**
 * Runs the steps of a call: registers the call in its session while it is being answered, turns errors into answers,
 * and calls the observer. All of this shares one `then`, because each turn and each frame costs time on the path of a
 * call.
 */
export function createAnswering(steps: Answerer, needs: AnsweringNeeds): Answering {
  const { clock, observer, tracer } = needs;
  const clientOf = createClientNames();
  const ids = createRequestIds(needs);
  const epochMs = createEpoch(clock);
  let answering = 0;
  let isStopping = false;

  function answer(untraced: ResolvedCall): Promise<ReplyBytes> {
    const resolved = tracer ? traced(untraced, tracer) : untraced;
    const { id, session, cancellation, request } = resolved.call;
    const { inFlight } = session;
    try {
      if (inFlight.has(id))
        throw new HubError('HUB_REQUEST_INVALID', `the id ${id} is in use by a request in flight`);
      const answered = steps(resolved);
      if (!(answered instanceof Promise)) return Promise.resolve(observed(resolved, answered));
      inFlight.set(id, cancellation);
      const count = request.method === listening ? 0 : 1;
      answering += count;
      return answered.then(
        reply => {
          answering -= count;
          inFlight.delete(id);
          return observed(resolved, reply);
        },
        (error: unknown) => {
          answering -= count;
          inFlight.delete(id);
          return failed(resolved, error);
        },
      );
    } catch (error) {
      return Promise.resolve(failed(resolved, error));
    }
  }

  function failed(resolved: ResolvedCall, cause: unknown): ReplyBytes {
    const { id, trace } = resolved.call;
    const isSent = cause instanceof FailedCall;
    const error = describe(resolved, isSent ? cause.error : cause);
    const bytes = errorAnswer(id, error);
    const written = trace && readMessage(bytes);
    if (written?.kind === 'answer') noteError(resolved.call, written);
    return observed(resolved, {
      bytes,
      outcome: error.code,
      serverMs: isSent ? cause.serverMs : 0,
    });
  }

  function describe(resolved: ResolvedCall, error: unknown): HubError {
    if (!(error instanceof HubError)) return ids.bug(error, resolved.call.request);
    return isStopping && error.code === 'HUB_CALL_CANCELLED'
      ? stopping(error)
      : ids.failed(error, resolved.call.request, resolved);
  }

  function observed({ call, server, name }: ResolvedCall, reply: Reply): ReplyBytes {
    const { request, session, principal, meta, arrivedMs, trace } = call;
    const { method } = request;
    if (!observer || method === listening) return reply.bytes;
    const nowMs = clock.monotonic();
    observer({
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
      request: request.bytes,
      reply: reply.bytes,
      trace,
    });
    return reply.bytes;
  }

  return {
    answer,
    refuse: failed,
    get inFlight() {
      return answering;
    },
    stop() {
      isStopping = true;
    },
  };
}

/** The error of a call that was cancelled by the hub's shutdown, not by its client. */
const stopping = ({ message, data }: HubError) =>
  new HubError('HUB_SHUTTING_DOWN', message, { data: { ...data, retryable: true } });
