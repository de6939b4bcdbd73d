import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#core';

/** An answer that is told as it comes about, as server-sent events. */
export interface EventAnswer extends Disposable {
  /** Sends an event; one of a client that does not read is dropped, unless it `isLast`. */
  send(event: string, data: object, isLast?: boolean): void;
}

/** Between two signs of life on a stream: less than proxies wait for. */
const aliveMs = 15_000;
/** Events for a client that does not read them are dropped from here on. */
const maxWaitingBytes = 2 ** 20;

/** Whether the client asks for events rather than for one answer at the end. */
export const wantsEvents = ({ headers }: Pick<FastifyRequest, 'headers'>): boolean =>
  headers.accept?.includes(eventStream) === true &&
  headers.accept.split(',').some(type => type.trim().startsWith(eventStream));

const eventStream = 'text/event-stream';

/** Answers 200 at once; disposing ends the stream. */
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

/** Aborted when the client hangs up before it has its answer. */
export function hangUpOf({ raw }: FastifyReply): AbortSignal {
  const hungUp = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) hungUp.abort(new Error('the connection was closed'));
  });
  return hungUp.signal;
}
