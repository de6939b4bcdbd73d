import type { Clock } from '#core';
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
  /** When it was last used, on the monotonic clock. */
  usedAt: number;
  /** Number of requests being answered and of open streams. The session is idle at 0. */
  active: number;
  /** Whether a request followed `initialize`. */
  isUsed: boolean;
  /** Set while the servers that the client of a resumed session knows have not listed their items. */
  ready: Promise<void> | undefined;
  /** The stream of messages outside any request. */
  readonly standing: EventStream;
  /** Opens a stream for one POST. A refused `initialize` has no headers of the session. */
  openStream(isRefused?: boolean): EventStream;
  /** Ends a stream. It is kept for a while, for a client that lost its connection. */
  finish(stream: EventStream): void;
  find(stream: number): EventStream | undefined;
  /**
   * Gives the stream of the last event that a client saw a connection; without one, the standing stream. False if the
   * events after it are not kept.
   */
  resume(response: HttpResponse, lastSeen: EventId | undefined): boolean;
  /** Sends a comment on every stream, so that proxies keep it open. */
  keepAlive(): void;
  /** Forgets streams that ended long ago. */
  expire(): void;
  /** Cancels all requests; the stream of each ends with its answer. */
  close(reason: string): void;
}

const bounds = {
  maxEvents: 1_000,
  maxBytes: 4 * 1024 * 1024,
  maxUnsentBytes: 64 * 1024 * 1024,
  stalledMs,
};

/** Smaller, because most sessions never open that stream. */
const standingBounds = { ...bounds, maxEvents: 256, maxBytes: 1024 * 1024 };

/** Ended streams that are kept for each session. */
const maxFinished = 16;
/** How long ended streams are kept. Clients reconnect within seconds. */
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
  // The numbers of streams and events differ from those of earlier runs, which clients may still name.
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
      // The clock may have gone back: then the numbers of an earlier run are above those of this one.
      const isOfEarlierRun =
        isResumed && stream === standing && lastSeen && lastSeen.sequence > standing.last;
      return stream?.attach(response, isOfEarlierRun ? undefined : lastSeen?.sequence) ?? false;
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
      standing.end();
      for (const stream of streams.values()) stream.discard();
    },
  };
  return http;
}
