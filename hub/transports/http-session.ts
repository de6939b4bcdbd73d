import type { Session, View } from '#routing';
import { type EventStream, type StreamBounds, createEventStream } from './event-stream.ts';

/** A client's session over streamable HTTP: the hub's session and the streams that it may resume. */
export interface HttpSession {
  readonly id: string;
  readonly view: View;
  readonly session: Session;
  /** When it was last used, on the monotonic clock. */
  usedAt: number;
  /** Requests being answered and open connections: while there are any, it is not idle. */
  active: number;
  /** The stream of what the client is told outside its requests. */
  readonly standing: EventStream;
  /** A stream for one request. */
  openStream(): EventStream;
  /** Marks a stream as over; a few of those are kept for clients that lost the end of it. */
  finish(stream: EventStream): void;
  find(stream: number): EventStream | undefined;
  streams(): Iterable<EventStream>;
  close(reason: string): void;
}

const bounds: StreamBounds = {
  maxEvents: 1_000,
  maxBytes: 4 * 1024 * 1024,
  maxUnsentBytes: 64 * 1024 * 1024,
};

/** Of what nobody listens to less is kept: most sessions never open that stream. */
const standingBounds: StreamBounds = { ...bounds, maxEvents: 256, maxBytes: 1024 * 1024 };

/** Streams that are over and kept for a client that comes back for their end. */
const maxFinished = 16;

export function createHttpSession(
  id: string,
  view: View,
  open: (outlet: (bytes: Buffer) => void) => Session,
  now: number,
): HttpSession {
  const headers = { 'mcp-session-id': id };
  const standing = createEventStream(0, standingBounds, headers);
  const streams = new Map([[standing.id, standing]]);
  const finished: number[] = [];
  let lastStream = 0;
  const session = open(bytes => standing.write(bytes));
  return {
    id,
    view,
    session,
    standing,
    usedAt: now,
    active: 0,
    openStream() {
      const stream = createEventStream(++lastStream, bounds, headers);
      streams.set(stream.id, stream);
      return stream;
    },
    finish(stream) {
      stream.end();
      finished.push(stream.id);
      if (finished.length > maxFinished) streams.delete(finished.shift() ?? 0);
    },
    find: number => streams.get(number),
    streams: () => streams.values(),
    close(reason) {
      session.close(reason);
      for (const stream of streams.values()) stream.end();
    },
  };
}
