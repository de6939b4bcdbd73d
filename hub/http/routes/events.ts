import type { ServerResponse } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, HubError, createTicker } from '#core';

/** The members of Fastify's reply that a stream uses. */
interface EventReply {
  readonly raw: ServerResponse;
  hijack(): unknown;
}

export interface EventAnswer extends Disposable {
  /** Sends an event. Drops the event if the client does not read, unless it `isLast`. */
  send(event: string, data: object, isLast?: boolean): void;
}

/** A source of events for one stream. */
type Followed = {
  /** Subscribes to changes, which may come at any rate. */
  readonly listen: (changed: () => void) => Disposable;
  /** Sends the changes since the last call. May dispose the answer to end the stream. Never rejects. */
  readonly tell: (events: EventAnswer) => void | Promise<void>;
  /** Subscribes to the end of the source. Absent: the source does not end, or `tell` ends the stream. */
  readonly until?: (over: () => void) => Disposable;
};

export type Follow = ReturnType<typeof createFollowing<FastifyReply>>;

/** Interval of keep-alive comments in ms, less than the timeout of proxies. */
const aliveMs = 15_000;
/** Maximum number of unread bytes. Above it, events are dropped. */
const maxWaitingBytes = 2 ** 20;

const eventStream = 'text/event-stream';

/** True if the client accepts an event stream. */
export const wantsEvents = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers.accept?.includes(eventStream) === true &&
  headers.accept.split(',').some(type => type.trim().startsWith(eventStream));

/**
 * Answers 200 and opens an event stream. Disposing the result ends the stream. `mayGoOn` is asked before each write:
 * false ends the stream.
 */
export function openEvents(
  reply: EventReply,
  clock: Pick<Clock, 'after'>,
  mayGoOn = () => true,
): EventAnswer {
  const { raw } = reply;
  const write = (text: string): void => {
    if (raw.destroyed) return;
    if (mayGoOn()) raw.write(text);
    else raw.destroy();
  };
  const alive = createTicker(clock, aliveMs, () => {
    write(': alive\n\n');
    return true;
  });
  reply.hijack();
  raw.on('error', () => {});
  raw.writeHead(200, {
    'content-type': eventStream,
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  alive.start();
  return {
    send(event, data, isLast = false) {
      if (!isLast && raw.writableLength > maxWaitingBytes) return;
      write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    [Symbol.dispose]() {
      alive[Symbol.dispose]();
      raw.end();
    },
  };
}

/**
 * Creates a function that opens event streams. A stream ends when the client or the source does, and sends at most
 * once in `intervalMs`. It also ends before its next event, within 15 seconds, if `mayFollow` no longer admits its
 * request. Throws HUB_SUBSCRIPTIONS_FULL with the message `full` above `maxStreams`.
 */
export function createFollowing<Reply extends EventReply>(
  clock: Pick<Clock, 'after'>,
  limits: { readonly intervalMs: number; readonly maxStreams: number; readonly full: string },
  mayFollow: (reply: Reply) => boolean = () => true,
) {
  let streams = 0;
  return (reply: Reply, { listen, tell, until }: Followed): Reply => {
    if (reply.raw.destroyed) {
      // The client has disconnected and no close event follows, so the subscription to the source is released now.
      listen(() => {})[Symbol.dispose]();
      reply.hijack();
      return reply;
    }
    if (streams >= limits.maxStreams) throw new HubError('HUB_SUBSCRIPTIONS_FULL', limits.full);
    streams++;
    const events = openEvents(reply, clock, () => mayFollow(reply));
    const due = createTicker(clock, limits.intervalMs, () => {
      void tell(events);
      return false;
    });
    const heard = listen(due.start);
    const ending = until?.(() => reply.raw.destroy());
    reply.raw.once('close', () => {
      streams--;
      heard[Symbol.dispose]();
      ending?.[Symbol.dispose]();
      due[Symbol.dispose]();
      events[Symbol.dispose]();
    });
    void tell(events);
    return reply;
  };
}

/** Returns a signal that aborts if the client disconnects before the answer is sent, or already has. */
export function hangUpOf({ raw }: Pick<EventReply, 'raw'>): AbortSignal {
  const hungUp = new AbortController();
  const over = () => {
    if (!raw.writableFinished) hungUp.abort(new Error('the connection was closed'));
  };
  if (raw.destroyed) over();
  else raw.once('close', over);
  return hungUp.signal;
}
