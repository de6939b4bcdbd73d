import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#core';

/** An answer as server-sent events. */
export interface EventAnswer extends Disposable {
  /** Sends an event. It is dropped if the client does not read, unless it `isLast`. */
  send(event: string, data: object, isLast?: boolean): void;
}

/** Interval of keep-alive comments: less than the timeout of proxies. */
const aliveMs = 15_000;
/** Events are dropped while more bytes are unread. */
const maxWaitingBytes = 2 ** 20;

/** Whether the client accepts an event stream. */
export const wantsEvents = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers.accept?.includes(eventStream) === true &&
  headers.accept.split(',').some(type => type.trim().startsWith(eventStream));

const eventStream = 'text/event-stream';

/** Answers 200 and opens the stream; disposing ends it. */
export function openEvents(reply: FastifyReply, clock: Clock): EventAnswer {
  const { raw } = reply;
  let alive: Disposable;
  const keepAlive = () => {
    alive = clock.after(aliveMs, () => {
      if (!raw.destroyed) raw.write(': alive\n\n');
      keepAlive();
    });
  };
  reply.hijack();
  raw.on('error', () => {});
  raw.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  raw.flushHeaders();
  keepAlive();
  return {
    send(event, data, isLast = false) {
      if (raw.destroyed || (!isLast && raw.writableLength > maxWaitingBytes)) return;
      raw.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
    },
    [Symbol.dispose]() {
      alive[Symbol.dispose]();
      raw.end();
    },
  };
}

/** Aborted if the client disconnects before the answer is sent. */
export function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const hungUp = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) hungUp.abort(new Error('the connection was closed'));
  });
  return hungUp.signal;
}
