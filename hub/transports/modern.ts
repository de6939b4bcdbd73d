import type { IncomingHttpHeaders } from 'node:http';
import { type Clock, type Log, createTicker, retryable } from '#core';
import {
  type Malformed,
  type Message,
  type Notification,
  type ReplyBytes,
  type Request,
  RpcError,
  errorAnswer,
  membersOf,
  rawText,
  rpcCodes,
  stringAt,
  whole,
} from '#jsonrpc';
import {
  type ParamHeader,
  checkMetadata,
  headerMismatch,
  mcpHeaders,
  readParamHeaders,
} from '#mcp';
import { type Principal, isSamePrincipal } from '#policy';
import type { Endpoint, Router, Session } from '#routing';
import type { ResponseStream } from '#upstream';
import {
  type EndpointRequest,
  clientNameIn,
  eventStreamHeaders,
  keepAliveComment,
  refuse,
  refused,
  sendJson,
  sendUnavailable,
  stalledMs,
  statusOf,
  traceparentOf,
} from './http-message.ts';
import { createRequestShares } from './request-shares.ts';

type ModernNeeds = {
  readonly router: Pick<Router, 'open' | 'describeTool' | 'endSuspendedOf'>;
  readonly clock: Clock;
  readonly log: Log;
};

/** A request that is being answered. */
type Answering = ResponseStream & {
  readonly post: EndpointRequest;
  readonly session: Session;
  /** Start of the request on the monotonic clock. */
  readonly since: number;
  readonly listens: boolean;
  /** True once the answer is a stream: after a notification, or after `keepAliveMs`. */
  streams: boolean;
};

/** Interval of keep-alive comments in ms. A request that takes this long is answered on a stream. */
const keepAliveMs = 15_000;
/** Maximum number of unsent bytes. A connection above it is dropped together with its request. */
const maxUnsentBytes = 64 * 1024 * 1024;
const eventStart = Buffer.from('data: ');
const eventEnd = Buffer.from('\n\n');
const nowhere: ResponseStream = { send() {} };
const noHeaders: readonly ParamHeader[] = [];

/**
 * Creates the transport of MCP 2026-07-28 over HTTP: each request is a session that ends with its answer or its
 * connection. The answer is JSON, or the last event of a stream if a notification precedes it. Requests above
 * `maxRequests` are refused.
 */
export function createModern(maxRequests: number, { router, clock, log }: ModernNeeds) {
  const check = createRequestCheck(router);
  const active = new Set<Answering>();
  const shares = createRequestShares(maxRequests);
  /** Sends keep-alives while a request is being answered. */
  const ticker = createTicker(clock, keepAliveMs, () => {
    const now = clock.monotonic();
    for (const one of active)
      if (one.streams || (one.post.acceptsStream && now - one.since >= keepAliveMs)) {
        beginStream(one);
        one.post.response.write(keepAliveComment);
      }
    return active.size > 0;
  });

  function answer(post: EndpointRequest, request: Request): void {
    const { headers, response, endpoint, principal, acceptsStream } = post;
    // The client disconnected while its body was arriving.
    if (response.destroyed) return;
    const id = rawText(request.bytes, request.id);
    const problem = check(headers, request, endpoint, principal);
    if (problem) return sendJson(response, 400, errorAnswer(id, problem));
    const listens = request.method === 'subscriptions/listen';
    if (listens && !acceptsStream)
      return refuse(response, 406, refused, 'Accept must name text/event-stream', request.bytes);
    const full = shares.refusal(principal, active.size);
    if (full !== undefined)
      return sendUnavailable(response, id, retryable('HUB_SESSIONS_FULL', full));
    const clientName = clientNameIn(headers);
    const session = router.open(endpoint, principal, () => {}, { clientName });
    const one: Answering = {
      post,
      session,
      since: clock.monotonic(),
      listens,
      streams: false,
      traceparent: traceparentOf(headers),
      send(bytes) {
        if (!active.has(one) || !acceptsStream || response.destroyed) return;
        beginStream(one);
        if (response.writableLength > maxUnsentBytes) response.destroy();
        else response.write(eventOf(bytes));
      },
    };
    active.add(one);
    shares.add(principal);
    ticker.start();
    // A client cancels a request by closing its connection.
    response.once('close', () => {
      if (ended(one)) session.close('the client hung up');
    });
    void session.accept(request, one, principal).then(reply => finish(one, reply));
  }

  /** Ends the count of a request. False if it ended before. */
  function ended(one: Answering): boolean {
    if (!active.delete(one)) return false;
    shares.remove(one.post.principal);
    return true;
  }

  function finish(one: Answering, reply: ReplyBytes | undefined): void {
    if (!ended(one)) return;
    try {
      if (reply) sendAnswer(one, reply);
      else one.post.response.destroy();
      one.session.close('the request is over');
    } catch (error) {
      log.error({ error: String(error) }, 'an answer could not be sent');
      one.post.response.destroy();
    }
  }

  /** Passes on a client's notification, which has no answer. */
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
        'clients of this revision send no responses: the requests of a server are in its results, and the answers go back as inputResponses';
      refuse(post.response, 400, rpcCodes.invalidRequest, why);
    },
    /** True if a request is being answered. `subscriptions/listen` does not count, because it does not end. */
    get isBusy() {
      for (const one of active) if (!one.listens) return true;
      return false;
    },
    /** Cancels the requests of a principal, and its calls that wait for a further request of the client. */
    endOf(principal: Principal, reason: string): void {
      for (const { post, session } of Array.from(active))
        if (isSamePrincipal(post.principal, principal)) session.close(reason);
      router.endSuspendedOf(principal, reason);
    },
    /** Cancels all requests and stops the ticker. */
    endAll(reason: string): void {
      for (const one of active) one.session.close(reason);
      ticker[Symbol.dispose]();
    },
  };
}

/** Begins a stream of server-sent events, if none has begun. Sends the head and the first event in one write. */
function beginStream(one: Answering): void {
  if (one.streams) return;
  one.streams = true;
  const { response } = one.post;
  response.writeHead(200, eventStreamHeaders);
  // Each keep-alive comment that the client reads restarts the timeout.
  response.setTimeout(stalledMs, () => response.destroy());
}

/** Encodes an event without an id, because streams of MCP 2026-07-28 cannot be resumed. */
const eventOf = (message: Buffer) => Buffer.concat([eventStart, message, eventEnd]);

/** Sends the answer as JSON, or on the stream if one was begun or the client does not accept JSON. */
function sendAnswer(one: Answering, reply: ReplyBytes): void {
  const { streams, listens } = one;
  const { response, acceptsJson } = one.post;
  // Proxies read the status and not the body. The status is fixed once a stream has begun.
  const status = streams || !Buffer.isBuffer(reply) ? 200 : statusOf(reply);
  if (!streams && (status !== 200 || (acceptsJson && !listens)))
    return sendJson(response, status, reply);
  beginStream(one);
  response.end(eventOf(whole(reply)));
}

/** Reads the metadata of a request without its other params; undefined if the params are not a valid object. */
export function metadataOf(request: Request) {
  const params = membersOf(request.bytes, request.params);
  return { params, meta: membersOf(request.bytes, params?.get('_meta')) };
}

/**
 * Creates the check of requests over HTTP by MCP 2026-07-28: they need a version, the client's capabilities, and
 * headers that agree with the body, because proxies route by the headers. The check returns the error, if any.
 */
function createRequestCheck(router: Pick<Router, 'describeTool'>) {
  /** Header declarations by the bytes of the tool's description, which the catalog keeps until the tool changes. */
  const declared = new WeakMap<Buffer, readonly ParamHeader[]>();

  function declaredBy(
    name: string | undefined,
    endpoint: Endpoint,
    principal: Principal,
  ): readonly ParamHeader[] {
    const tool = name === undefined ? undefined : router.describeTool(endpoint, name, principal);
    if (!tool) return noHeaders;
    const known = declared.get(tool);
    if (known) return known;
    const read = readParamHeaders(tool);
    // Clients ignore a tool with an invalid declaration, so they send no headers for it.
    const headers = read.valid ? read.headers : noHeaders;
    declared.set(tool, headers);
    return headers;
  }

  return (
    headers: IncomingHttpHeaders,
    request: Request,
    endpoint: Endpoint,
    principal: Principal,
  ) => {
    const { bytes } = request;
    const { params, meta } = metadataOf(request);
    if (request.params && !params)
      return new RpcError(
        rpcCodes.invalidParams,
        'HUB_REQUEST_INVALID',
        'a member of "params" stands twice',
      );
    const { version, error } = checkMetadata(bytes, meta);
    const header = headers[mcpHeaders.version];
    if (version !== undefined && header !== version)
      return mismatch(
        `the header MCP-Protocol-Version is ${header === undefined ? 'missing' : JSON.stringify(header)}: it must repeat params._meta, ${JSON.stringify(version)}`,
      );
    if (error) return error;
    const called =
      request.method === 'tools/call' ? stringAt(bytes, params?.get('name')) : undefined;
    const problem = headerMismatch(
      headers,
      request,
      params,
      declaredBy(called, endpoint, principal),
    );
    return problem === undefined ? undefined : mismatch(problem);
  };
}

const mismatch = (message: string) =>
  new RpcError(rpcCodes.headerMismatch, 'HUB_HEADER_MISMATCH', message);
