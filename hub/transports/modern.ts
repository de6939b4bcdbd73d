import { type Clock, type Log, createTicker } from '#core';
import {
  type Malformed,
  type Message,
  type Notification,
  type ReplyBytes,
  type Request,
  errorAnswer,
  rawText,
  rpcCodes,
  whole,
} from '#jsonrpc';
import type { Router, Session } from '#routing';
import type { ResponseStream } from '#upstream';
import {
  eventStreamHeaders,
  keepAliveComment,
  refuse,
  refused,
  retryable,
  sendJson,
  sendUnavailable,
  stalledMs,
  statusOf,
} from './answer.ts';
import { type EndpointRequest, type HttpResponse, traceparentOf } from './http-message.ts';
import { createRequestCheck } from './modern-request.ts';

export type ModernNeeds = {
  readonly router: Pick<Router, 'open' | 'describeTool'>;
  readonly clock: Clock;
  readonly log: Log;
};

/** A request that is being answered. */
type Answering = ResponseStream & {
  readonly response: HttpResponse;
  readonly session: Session;
  /** Start of the request on the monotonic clock. */
  readonly since: number;
  readonly acceptsJson: boolean;
  readonly acceptsStream: boolean;
  readonly listens: boolean;
  /** True once the answer is a stream: after a notification, or after a long wait. */
  streams: boolean;
};

/** Interval of keep-alive comments. A request that takes this long is answered on a stream. */
const keepAliveMs = 15_000;
/** A connection with more unsent bytes is dropped together with its request. */
const maxUnsentBytes = 64 * 1024 * 1024;
const eventStart = Buffer.from('data: ');
const eventEnd = Buffer.from('\n\n');
const nowhere: ResponseStream = { send() {} };

/**
 * Streamable HTTP of MCP 2026-07-28: each request is a session that ends with its answer or its connection. The
 * answer is JSON, or the last event of a stream if a notification precedes it. Requests above `maxRequests` are
 * refused.
 */
export function createModern(maxRequests: number, { router, clock, log }: ModernNeeds) {
  const check = createRequestCheck(router);
  const active = new Set<Answering>();
  /** Runs while a request is being answered. */
  const ticker = createTicker(clock, keepAliveMs, () => {
    const now = clock.monotonic();
    for (const one of active)
      if (one.streams || (one.acceptsStream && now - one.since >= keepAliveMs)) {
        begin(one);
        one.response.write(keepAliveComment);
      }
    return active.size > 0;
  });

  function answer(post: EndpointRequest, request: Request): void {
    const { headers, response, endpoint, principal, acceptsJson, acceptsStream } = post;
    // The client left while its body was arriving.
    if (response.destroyed) return;
    const id = rawText(request.bytes, request.id);
    const problem = check(headers, request, endpoint);
    if (problem) return sendJson(response, 400, errorAnswer(id, problem));
    const listens = request.method === 'subscriptions/listen';
    if (listens && !acceptsStream)
      return refuse(response, 406, refused, 'Accept must name text/event-stream', request.bytes);
    if (active.size >= maxRequests) {
      const why = `${active.size} requests are being answered. Try again later`;
      return sendUnavailable(response, id, retryable('HUB_SESSIONS_FULL', why));
    }
    const session = router.open(endpoint, principal, () => {});
    const one: Answering = {
      response,
      session,
      since: clock.monotonic(),
      acceptsJson,
      acceptsStream,
      listens,
      streams: false,
      traceparent: traceparentOf(headers),
      send(bytes) {
        if (!active.has(one) || !acceptsStream || response.destroyed) return;
        begin(one);
        if (response.writableLength > maxUnsentBytes) response.destroy();
        else response.write(eventOf(bytes));
      },
    };
    active.add(one);
    ticker.start();
    // Closing the connection is how a client cancels.
    response.once('close', () => {
      if (active.delete(one)) session.close('the client hung up');
    });
    void session.accept(request, one, principal).then(reply => finish(one, reply));
  }

  function finish(one: Answering, reply: ReplyBytes | undefined): void {
    if (!active.delete(one)) return;
    try {
      if (reply) send(one, reply);
      else one.response.destroy();
      one.session.close('the request is over');
    } catch (error) {
      log.error({ error: String(error) }, 'an answer could not be sent');
      one.response.destroy();
    }
  }

  /** Passes on a notification, which has no answer. */
  function notify({ endpoint, principal, response }: EndpointRequest, message: Notification): void {
    const session = router.open(endpoint, principal, () => {});
    void session.accept(message, nowhere, principal).then(() => {
      session.close('the notification is passed on');
      response.writeHead(202).end();
    });
  }

  return {
    /** Answers a POST with one message. */
    receive(post: EndpointRequest, message: Message | Malformed | undefined): void {
      if (message?.kind === 'request') return answer(post, message);
      if (message?.kind === 'notification') return notify(post, message);
      const why =
        'clients of this revision do not answer: what a server asks is in its results, and goes back as inputResponses';
      refuse(post.response, 400, rpcCodes.invalidRequest, why);
    },
    /** Whether a request is being answered. Requests to listen do not count, because they do not end. */
    get isBusy() {
      for (const one of active) if (!one.listens) return true;
      return false;
    },
    /** Cancels all requests and stops the ticker. */
    endAll(reason: string): void {
      for (const one of active) one.session.close(reason);
      ticker[Symbol.dispose]();
    },
  };
}

/** Begins a stream of server-sent events, if none has begun. Its head and its first event are one write. */
function begin(one: Answering): void {
  if (one.streams) return;
  one.streams = true;
  one.response.writeHead(200, eventStreamHeaders);
  // Comments reset the timeout, unless the client does not read them.
  one.response.setTimeout(stalledMs, () => one.response.destroy());
}

/** An event without an id, because streams of MCP 2026-07-28 cannot be resumed. */
const eventOf = (message: Buffer) => Buffer.concat([eventStart, message, eventEnd]);

/** Sends the answer as JSON, or on the stream if one was begun or the client accepts nothing else. */
function send(one: Answering, reply: ReplyBytes): void {
  const { response, streams, listens, acceptsJson } = one;
  // Proxies read the status and not the body. It is fixed once a stream has begun.
  const status = streams || !Buffer.isBuffer(reply) ? 200 : statusOf(reply);
  if (!streams && (status !== 200 || (acceptsJson && !listens)))
    return sendJson(response, status, reply);
  begin(one);
  response.end(eventOf(whole(reply)));
}
