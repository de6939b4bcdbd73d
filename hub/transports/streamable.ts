import type { IncomingHttpHeaders } from 'node:http';
import { type Log, createTicker, retryable, untilIdle } from '#core';
import {
  type Malformed,
  type Message,
  type Request,
  malformedAnswer,
  membersOf,
  rawText,
  readMessages,
  rpcCodes,
  stringAt,
} from '#jsonrpc';
import { allowsBatches, isKnownVersion, metaKeys, modernVersion, negotiatedVersion } from '#mcp';
import { type Principal, isSamePrincipal } from '#policy';
import { type Endpoint, type Router, clientIn } from '#routing';
import { parseEventId } from './event-stream.ts';
import {
  type EndpointRequest,
  type HttpRequest,
  type HttpResponse,
  idOf,
  isJson,
  readRequest,
  refuse,
  refuseMethod,
  refuseVersion,
  refused,
  sendJson,
  sendUnavailable,
  stopping,
  whyCompressed,
} from './http-message.ts';
import type { HttpSession } from './http-session.ts';
import { createModern, metadataOf } from './modern.ts';
import { createPost, createPosts } from './posts.ts';
import {
  type SessionTableNeeds,
  type SessionTableOptions,
  createSessionTable,
} from './session-table.ts';

export type Streamable = ReturnType<typeof createStreamable>;

export type StreamableOptions = SessionTableOptions & {
  /** Maximum number of unanswered POSTs of all sessions; 10,000 by default. POSTs above it are refused. */
  readonly maxPosts?: number;
};

type StreamableNeeds = SessionTableNeeds & {
  readonly router: Pick<Router, 'open' | 'inFlight' | 'describeTool' | 'endSuspendedOf'>;
  readonly log: Log;
};

/** Interval in ms at which sessions and streams are checked. */
const tickMs = 1_000;
const keepAliveTicks = 15;
const { invalidRequest, methodNotFound, sessionUnknown } = rpcCodes;

/**
 * Creates MCP's streamable HTTP: POST, GET and DELETE for the revisions 2025-03-26 to 2025-11-25, POST for 2026-07-28.
 */
export function createStreamable(options: StreamableOptions, needs: StreamableNeeds) {
  const { clock, log, router } = needs;
  const sessions = createSessionTable(options, needs);
  const modern = createModern(options.maxSessions, needs);
  const posts = createPosts(sessions, clock, log, options.maxPosts);
  let draining = false;
  let ticks = 0;
  /** Checks sessions and streams while a session is open. */
  const ticker = createTicker(clock, tickMs, () => {
    posts.streamLong();
    if (++ticks % keepAliveTicks === 0) sessions.keepAlive();
    sessions.expire();
    return sessions.size > 0;
  });

  /** Finds the session of a request. Answers with an error and returns undefined if there is none. */
  function sessionOf(request: EndpointRequest, body?: Buffer): HttpSession | undefined {
    const { headers, response, endpoint, principal } = request;
    const id = headers['mcp-session-id'];
    if (typeof id !== 'string') {
      const why = 'the header Mcp-Session-Id is missing: initialize first';
      refuse(response, 400, refused, why, body);
      return undefined;
    }
    let http = sessions.find(id);
    if (!http)
      try {
        http = sessions.resume(id, request);
        if (http) ticker.start();
      } catch (error) {
        sendUnavailable(response, idOf(body), error);
        return undefined;
      }
    // A session belongs to the endpoint and the principal it was opened with. The id is not a credential.
    const opener = http?.session.principal;
    if (
      opener &&
      http?.endpoint === endpoint &&
      isSamePrincipal(opener, principal) &&
      opener.profile === principal.profile
    )
      return http;
    const why = 'the session is unknown or over: initialize again';
    refuse(response, 404, sessionUnknown, why, body);
    return undefined;
  }

  /** Opens a session for `initialize`. Answers with an error and returns undefined if too many sessions are open. */
  function open(request: EndpointRequest, { bytes, params, id }: Request): HttpSession | undefined {
    const members = membersOf(bytes, params);
    try {
      const http = sessions.open(request, {
        client: clientIn({ bytes }, members),
        protocolVersion: negotiatedVersion(stringAt(bytes, members?.get('protocolVersion'))),
        openedAt: clock.now(),
      });
      ticker.start();
      return http;
    } catch (error) {
      sendUnavailable(request.response, rawText(bytes, id), error);
      return undefined;
    }
  }

  function receive(request: EndpointRequest, body: Buffer): void {
    const { headers, response } = request;
    if (!request.acceptsJson && !request.acceptsStream) {
      const why = 'Accept must name application/json or text/event-stream';
      return refuse(response, 406, refused, why, body);
    }
    if (!isJson(headers))
      return refuse(response, 415, refused, 'Content-Type must be application/json', body);
    const { batch, messages } = readMessages(body);
    const [first] = messages;
    // In a batch, the remaining messages are still answered.
    if (first?.kind === 'malformed' && messages.length === 1) {
      const compressed = whyCompressed(headers);
      return compressed === undefined
        ? sendJson(response, 400, malformedAnswer(first))
        : refuse(response, 415, refused, compressed);
    }
    if (isModern(headers, messages)) {
      if (!batch) return modern.receive(request, first);
      const why = 'MCP has no batches: send one message a POST';
      return refuse(response, 400, invalidRequest, why);
    }
    const version = headers['mcp-protocol-version'];
    if (version !== undefined && !isKnownVersion(version))
      return refuseVersion(response, version, body);
    const single = !batch && first?.kind === 'request' ? first : undefined;
    const opening = single?.method === 'initialize';
    const http =
      opening && headers['mcp-session-id'] === undefined
        ? open(request, single)
        : sessionOf(request, body);
    if (!http) return;
    const { protocolVersion } = http.session;
    if (opening && protocolVersion !== undefined)
      return refuse(response, 400, invalidRequest, 'the session is initialized already', body);
    // The client could not end this request: with a session, a lost connection cancels nothing.
    if (single?.method === 'subscriptions/listen')
      return refuse(response, 400, methodNotFound, 'sessions do not listen', body);
    if (batch && !allowsBatches(protocolVersion ?? '')) {
      const why = `MCP ${protocolVersion} has no batches: send one message a request`;
      return refuse(response, 400, invalidRequest, why);
    }
    const full = posts.refusal(request.principal);
    if (full !== undefined)
      return sendUnavailable(response, idOf(body), retryable('HUB_SERVER_BUSY', full));
    const post = createPost(request, http, clock.monotonic(), batch, opening, messages);
    posts.answer(post, messages);
  }

  function get(request: EndpointRequest): void {
    const { headers, response } = request;
    if (!request.acceptsStream)
      return refuse(response, 406, refused, 'Accept must name text/event-stream');
    const http = sessionOf(request);
    // A closed response emits no further close event, so that the session would stay in use forever.
    if (!http || response.destroyed) return;
    const lastId = headers['last-event-id'];
    const lastSeen = lastId === undefined ? undefined : parseEventId(String(lastId));
    const isReadable = lastId === undefined || lastSeen !== undefined;
    if (!isReadable || !http.resume(response, lastSeen)) {
      const why = 'the events after that Last-Event-ID are no longer stored';
      return refuse(response, 400, refused, why);
    }
    sessions.use(http);
    response.on('close', () => sessions.release(http));
  }

  function endSession(request: EndpointRequest): void {
    const http = sessionOf(request);
    if (!http) return;
    const answer = () => request.response.writeHead(204).end();
    posts.abandonStreams(http);
    const ended = sessions.end(http, 'the client ended the session');
    if (ended) void ended.then(answer);
    else answer();
  }

  return {
    get sessionCount() {
      return sessions.size;
    },
    /** Answers a request to an MCP endpoint. `body`: the body of a POST. */
    handle(
      incoming: HttpRequest,
      response: HttpResponse,
      body: Buffer,
      endpoint: Endpoint,
      principal: Principal,
    ): void {
      if (draining) return sendUnavailable(response, idOf(body), stopping());
      const request = readRequest(incoming, response, endpoint, principal);
      const { method } = incoming;
      if (method === 'POST') return receive(request, body);
      const version = incoming.headers['mcp-protocol-version'];
      if (version === modernVersion) return refuseMethod(response, method, 'POST');
      if (version !== undefined && !isKnownVersion(version))
        return refuseVersion(response, version);
      if (method === 'GET') return get(request);
      if (method === 'DELETE') return endSession(request);
      refuseMethod(response, method, 'GET, POST, DELETE');
    },
    /** Ends the sessions of an endpoint. */
    end: (endpoint: Endpoint, reason: string) => sessions.endAll(reason, endpoint),
    /** Ends the sessions of a principal, and cancels its requests without a session. */
    endOf(principal: Principal, reason: string): void {
      sessions.endOf(principal, reason);
      modern.endOf(principal, reason);
    },
    /**
     * Refuses new requests, waits at most `graceMs` for calls in flight, then ends all sessions. Does not wait for
     * `subscriptions/listen` requests, which the router ends.
     */
    async drain(graceMs: number): Promise<void> {
      draining = true;
      // The caller of `drain` ends `subscriptions/listen` requests in this turn.
      await Promise.resolve();
      // The router also counts calls without a session.
      const isBusy = () => posts.size > 0 || modern.isBusy || router.inFlight > 0;
      await untilIdle(isBusy, graceMs, clock);
      modern.endAll('the hub is stopping');
      needs.saved?.saveAll();
      sessions.endAll('the hub is stopping');
      ticker[Symbol.dispose]();
    },
  };
}

const versionKey = Buffer.from(metaKeys.protocolVersion);
const backslash = 0x5c;

/**
 * True if a POST is of the stateless revision: its version header names that revision, or the `_meta` of one of its
 * requests names any. A session id in it is ignored, because that revision has no sessions.
 */
function isModern(
  headers: IncomingHttpHeaders,
  messages: readonly (Message | Malformed)[],
): boolean {
  return headers['mcp-protocol-version'] === modernVersion || messages.some(namesVersion);
}

/**
 * True if the `_meta` of a request names a revision. Searches the bytes first, because most requests of a session name
 * none.
 */
function namesVersion(message: Message | Malformed): boolean {
  if (message.kind !== 'request' || !message.params) return false;
  const { bytes } = message;
  // A backslash may escape a character of the member's name.
  if (!bytes.includes(versionKey) && !bytes.includes(backslash)) return false;
  return metadataOf(message).meta?.has(metaKeys.protocolVersion) ?? false;
}
