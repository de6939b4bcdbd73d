import type { Clock } from '#core';
import { allowsEmptyEvents } from '#mcp';
import type { Endpoint, Session } from '#routing';
import {
  type EventId,
  type EventStream,
  type ReplayBudget,
  createEventStream,
} from './event-stream.ts';
import { type HttpResponse, stalledMs } from './http-message.ts';

/** A session over streamable HTTP, with the streams that its client may resume. */
export interface HttpSession {
  readonly id: string;
  readonly endpoint: Endpoint;
  readonly session: Session;
  /** Time of the last use, on the monotonic clock, in ms. */
  usedAt: number;
  /** Number of open streams and unanswered requests. The session is idle at 0. */
  active: number;
  /** True if a request followed `initialize`. */
  isUsed: boolean;
  /** For a resumed session, resolves once the servers have listed their items; undefined after that. */
  ready: Promise<void> | undefined;
  /** The stream of messages outside any request. */
  readonly standing: EventStream;
  /** Opens a stream for one POST. The answer to a refused `initialize` has no session headers. */
  openStream(isRefused?: boolean): EventStream;
  /** Ends a stream. Its events are stored for a while, for a client that lost its connection. */
  finish(stream: EventStream): void;
  find(stream: number): EventStream | undefined;
  /**
   * Connects the stream of the last event that a client saw; without an event, the standing stream. False if events
   * after that event are no longer stored.
   */
  resume(response: HttpResponse, lastSeen: EventId | undefined): boolean;
  /** Sends a comment on every stream, so that proxies do not close it. */
  keepAlive(): void;
  /** Deletes the events of streams that ended long ago. */
  expire(): void;
  /** Cancels all requests. The stream of each request ends with its answer. */
  close(reason: string): void;
}

const bounds = {
  maxEvents: 1_000,
  maxBytes: 4 * 1024 * 1024,
  maxUnsentBytes: 64 * 1024 * 1024,
  stalledMs,
};

/** Smaller limits, because most sessions never open the standing stream. */
const standingBounds = { ...bounds, maxEvents: 256, maxBytes: 1024 * 1024 };

/** Maximum number of ended streams per session whose events are stored. */
const maxFinished = 16;
/** Time in ms for which the events of an ended stream are stored. Clients reconnect within seconds. */
const finishedMs = 60_000;

export function createHttpSession(
  id: string,
  endpoint: Endpoint,
  open: (send: (bytes: Buffer) => void, http: () => HttpSession) => Session,
  needs: { readonly clock: Clock; readonly budget: ReplayBudget },
  isResumed = false,
): HttpSession {
  const { clock, budget } = needs;
  const headers = { 'mcp-session-id': id };
  // The numbers of streams and events must differ from those of earlier runs, which clients may still send.
  const start = isResumed ? clock.now() : 0;
  const standing = createEventStream(0, standingBounds, budget, headers, start);
  const streams = new Map([[standing.id, standing]]);
  const finished: { readonly stream: EventStream; readonly at: number }[] = [];
  let lastStream = start;
  let closed = false;
  const session = open(
    bytes => standing.write(bytes),
    () => http,
  );

  function forgetOldest(): void {
    const oldest = finished.shift();
    if (!oldest) return;
    streams.delete(oldest.stream.id);
    oldest.stream.discard();
  }

  const http: HttpSession = {
    id,
    endpoint,
    session,
    standing,
    usedAt: clock.monotonic(),
    active: 0,
    isUsed: isResumed,
    ready: undefined,
    openStream(isRefused = false) {
      const own = isRefused ? {} : headers;
      const stream = createEventStream(++lastStream, bounds, budget, own);
      if (closed) stream.discard();
      else streams.set(stream.id, stream);
      return stream;
    },
    finish(stream) {
      stream.end();
      finished.push({ stream, at: clock.monotonic() });
      if (finished.length > maxFinished) forgetOldest();
    },
    find: number => streams.get(number),
    resume(response, lastSeen) {
      const stream = lastSeen ? streams.get(lastSeen.stream) : standing;
      // If the clock was set back, numbers of an earlier run are above those of this run.
      const isOfEarlierRun =
        isResumed && stream === standing && lastSeen && lastSeen.sequence > standing.last;
      const isAttached =
        stream?.attach(response, isOfEarlierRun ? undefined : lastSeen?.sequence) ?? false;
      if (isAttached && stream === standing && allowsEmptyEvents(session.protocolVersion))
        standing.sendRetry();
      return isAttached;
    },
    keepAlive() {
      for (const stream of streams.values()) stream.keepAlive();
    },
    expire() {
      const since = clock.monotonic() - finishedMs;
      while (finished[0] && finished[0].at < since) forgetOldest();
    },
    close(reason) {
      closed = true;
      session.close(reason);
      // Clients of 2025-11-25 know the delay already. SDKs of older revisions may log an error for a message without data,
      // so the event has a type of its own.
      if (!allowsEmptyEvents(session.protocolVersion)) standing.sendRetry('retry');
      standing.end();
      for (const stream of streams.values()) stream.discard();
    },
  };
  return http;
}
