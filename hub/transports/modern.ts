import type { IncomingHttpHeaders } from 'node:http';
import { type Clock, type Log, HubError } from '#core';
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
import type { Principal } from '#policy';
import type { Router, Session, Endpoint } from '#routing';
import type { ResponseStream } from '#upstream';
import type { acceptedTypes } from './accepted.ts';
import { refuse, sendJson, statusOf } from './answer.ts';
import type { HttpResponse } from './http-message.ts';
import { claimOf, createRequestCheck } from './modern-request.ts';
import { beginEvents, sendComment, sendEvent, sendLastEvent } from './modern-stream.ts';
import { refused } from './refusals.ts';
import { traceparentOf } from './traceparent.ts';
import { sendUnavailable } from './unavailable.ts';

/** A POST of MCP 2026-07-28. */
export type ModernPost = {
  readonly headers: IncomingHttpHeaders;
  readonly response: HttpResponse;
  readonly endpoint: Endpoint;
  readonly principal: Principal;
  readonly accepts: ReturnType<typeof acceptedTypes>;
  readonly batch: boolean;
  readonly message: Message | Malformed | undefined;
};

/**
 * Streamable HTTP of MCP 2026-07-28: each request is a session that ends with its answer or its connection. The
 * answer is JSON, or the last event of a stream if a notification precedes it.
 */
export interface Modern {
  receive(post: ModernPost): void;
  /** Whether a request is being answered. Requests to listen do not count, because they do not end. */
  readonly isBusy: boolean;
  /** Cancels all requests and stops the ticker. */
  endAll(reason: string): void;
}

export type ModernOptions = {
  /** Requests above this number are refused. */
  readonly maxRequests: number;
};

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
  readonly accepts: ModernPost['accepts'];
  readonly listens: boolean;
  /** True once the answer is a stream: after a notification, or after a long wait. */
  streams: boolean;
};

/** Interval of keep-alive comments. A request that takes this long is answered on a stream. */
const keepAliveMs = 15_000;
const nowhere: ResponseStream = { send() {} };

export function createModern(options: ModernOptions, needs: ModernNeeds): Modern {
  const { router, clock, log } = needs;
  const check = createRequestCheck(router);
  const active = new Set<Answering>();
  let ticking: Disposable | undefined;

  function tick(): void {
    ticking = undefined;
    const now = clock.monotonic();
    for (const one of active)
      if (one.streams) sendComment(one.response);
      else if (one.accepts.stream && now - one.since >= keepAliveMs) {
        begin(one);
        sendComment(one.response);
      }
    keepTicking();
  }

  /** The ticker runs while a request is being answered. */
  function keepTicking(): void {
    if (!ticking && active.size > 0) ticking = clock.after(keepAliveMs, tick);
  }

  function answer(post: ModernPost, request: Request): void {
    const { response, endpoint, principal, accepts } = post;
    // The client left while its body was arriving.
    if (response.destroyed) return;
    const id = rawText(request.bytes, request.id);
    const problem = check(post.headers, request, claimOf(request), endpoint);
    if (problem) return sendJson(response, 400, errorAnswer(id, problem));
    const listens = request.method === 'subscriptions/listen';
    if (listens && !accepts.stream)
      return refuse(response, 406, refused, 'Accept must name text/event-stream', request.bytes);
    if (active.size >= options.maxRequests)
      return sendUnavailable(response, id, tooMany(active.size));
    const session = router.open(endpoint, principal, () => {});
    const one: Answering = {
      response,
      session,
      since: clock.monotonic(),
      accepts,
      listens,
      streams: false,
      traceparent: traceparentOf(post.headers),
      send(bytes) {
        if (!active.has(one) || !accepts.stream || response.destroyed) return;
        begin(one);
        sendEvent(response, bytes);
      },
    };
    active.add(one);
    keepTicking();
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
  function notify({ endpoint, principal, response }: ModernPost, message: Notification): void {
    const session = router.open(endpoint, principal, () => {});
    void session.accept(message, nowhere, principal).then(() => {
      session.close('the notification is passed on');
      response.writeHead(202).end();
    });
  }

  return {
    get isBusy() {
      for (const one of active) if (!one.listens) return true;
      return false;
    },
    receive(post) {
      const { response, message, batch } = post;
      if (batch)
        refuse(
          response,
          400,
          rpcCodes.invalidRequest,
          'MCP has no batches: send one message a POST',
        );
      else if (message?.kind === 'request') answer(post, message);
      else if (message?.kind === 'notification') notify(post, message);
      else
        refuse(
          response,
          400,
          rpcCodes.invalidRequest,
          'clients of this revision do not answer: what a server asks is in its results, and goes back as inputResponses',
        );
    },
    endAll(reason) {
      for (const one of active) one.session.close(reason);
      ticking?.[Symbol.dispose]();
      ticking = undefined;
    },
  };
}

function begin(one: Answering): void {
  if (one.streams) return;
  one.streams = true;
  beginEvents(one.response);
}

/** Sends the answer as JSON, or on the stream if one was begun or the client accepts nothing else. */
function send(one: Answering, reply: ReplyBytes): void {
  const { response, streams, listens, accepts } = one;
  // Proxies read the status and not the body. It is fixed once a stream has begun.
  const status = streams || !Buffer.isBuffer(reply) ? 200 : statusOf(reply);
  if (!streams && (status !== 200 || (accepts.json && !listens)))
    return sendJson(response, status, reply);
  begin(one);
  sendLastEvent(response, whole(reply));
}

const tooMany = (count: number) =>
  new HubError('HUB_SESSIONS_FULL', `${count} requests are being answered. Try again later`, {
    data: { retryable: true },
  });
