import type { Clock } from '#core';
import type { Session, View } from '#routing';
import { type EventStream, type StreamBounds, createEventStream } from './event-stream.ts';
import { stalledMs } from './answer.ts';
import type { ReplayBudget } from './replay-budget.ts';

/** A client's session over streamable HTTP: the hub's session and the streams that it may resume. */
export interface HttpSession {
  readonly id: string;
  readonly view: View;
  readonly session: Session;
  /** When it was last used, on the monotonic clock. */
  usedAt: number;
  /** Requests being answered and open connections: while there are any, it is not idle. */
  active: number;
  /** Its client has come back after `initialize`. */
  isUsed: boolean;
  /** Of a resumed session, while servers that its client knows have not listed what they offer. */
  ready: Promise<void> | undefined;
  /** The stream of what the client is told outside its requests. */
  readonly standing: EventStream;
  /** A stream for one request. */
  openStream(): EventStream;
  /** Marks a stream as over; a few of those are kept for clients that lost the end of it. */
  finish(stream: EventStream): void;
  find(stream: number): EventStream | undefined;
  /** Sends a comment on every stream, so that nobody gives up on a silent one. */
  keepAlive(): void;
  /** Forgets the streams that have been over for long. */
  expire(): void;
  /** Cancels what is in flight; the stream of each call ends with its answer. */
  close(reason: string): void;
}

const bounds: StreamBounds = {
  maxEvents: 1_000,
  maxBytes: 4 * 1024 * 1024,
  maxUnsentBytes: 64 * 1024 * 1024,
  stalledMs,
};

/** Of what nobody listens to less is kept: most sessions never open that stream. */
const standingBounds: StreamBounds = { ...bounds, maxEvents: 256, maxBytes: 1024 * 1024 };

/** Streams that are over and kept for a client that comes back for their end. */
const maxFinished = 16;
/** How long those are kept: a client that lost its connection is back within seconds. */
const finishedMs = 60_000;

export function createHttpSession(
  id: string,
  view: View,
  open: (outlet: (bytes: Buffer) => void, http: () => HttpSession) => Session,
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
    view,
    session,
    standing,
    usedAt: clock.monotonic(),
    active: 0,
    isUsed: isResumed,
    ready: undefined,
    openStream() {
      const stream = createEventStream(++lastStream, bounds, budget, headers);
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
