import { type Clock, type Log, createSlotMap } from '#core';
import {
  type Malformed,
  type Message,
  type ReplyBytes,
  type Request,
  malformedAnswer,
  membersOf,
  rawText,
  readMessages,
  rpcCodes,
  stringAt,
} from '#jsonrpc';
import { allowsBatches, isKnownVersion, latestVersion, modernVersion } from '#mcp';
import { type Principal, isSamePrincipal } from '#policy';
import type { Router, Session, Endpoint } from '#routing';
import { acceptedTypes, isJson } from './accepted.ts';
import { idOf, refuse, sendJson } from './answer.ts';
import { parseEventId } from './event-stream.ts';
import { type Post, beginStream, createPost, finish } from './response-stream.ts';
import type { HttpRequest, HttpResponse } from './http-message.ts';
import type { HttpSession } from './http-session.ts';
import { isModern } from './modern-request.ts';
import { createModern } from './modern.ts';
import { refuseMethod, refuseVersion, refused } from './refusals.ts';
import type { SavedSessions } from './saved-sessions.ts';
import { type SessionTableOptions, createSessionTable } from './session-table.ts';
import { traceparentOf } from './traceparent.ts';
import { busy, sendUnavailable, stopping } from './unavailable.ts';

/** MCP's streamable HTTP: POST, GET and DELETE for the revisions 2025-03-26 to 2025-11-25, POST for 2026-07-28. */
export interface Streamable {
  /** Answers a request to an MCP endpoint. `body` is that of a POST. */
  handle(
    request: HttpRequest,
    response: HttpResponse,
    body: Buffer,
    endpoint: Endpoint,
    principal: Principal,
  ): void;
  readonly sessionCount: number;
  /** Ends the sessions of a endpoint. */
  end(endpoint: Endpoint, reason: string): void;
  /**
   * Refuses new requests, waits at most `graceMs` for calls in flight, then ends all sessions. It does not wait for
   * requests to listen, which the router ends.
   */
  drain(graceMs: number): Promise<void>;
}

export type StreamableOptions = SessionTableOptions & {
  /** POSTs of sessions above this number are refused; 10,000 by default. */
  readonly maxPosts?: number;
};

export type StreamableNeeds = {
  readonly router: Pick<Router, 'open' | 'inFlight' | 'describeTool'>;
  readonly clock: Clock;
  readonly log: Log;
  readonly newId: () => string;
  /** Absent: all sessions end with this run of the hub. */
  readonly saved?: SavedSessions;
};

/** Interval of the upkeep of sessions and streams. */
const tickMs = 1_000;
/** A call that takes longer is answered on a stream, which survives a lost connection. */
const streamAfterMs = 2_000;
const keepAliveTicks = 15;
const defaultMaxPosts = 10_000;

/** The code of the SDKs for an unknown session. */
const sessionUnknown = -32001;

export function createStreamable(options: StreamableOptions, needs: StreamableNeeds): Streamable {
  const { clock } = needs;
  const { maxPosts = defaultMaxPosts } = options;
  const sessions = createSessionTable(options, needs);
  const modern = createModern({ maxRequests: options.maxSessions }, needs);
  const posts = createSlotMap<Post>();
  let draining = false;
  let ticks = 0;
  let ticking: Disposable | undefined;

  function tick(): void {
    ticking = undefined;
    const now = clock.monotonic();
    ticks++;
    for (const [, post] of posts.entries())
      if (!post.events && now - post.options.since > streamAfterMs) beginStream(post);
    if (ticks % keepAliveTicks === 0) sessions.keepAlive();
    sessions.expire();
    keepTicking();
  }

  /** The ticker runs while a session is open. */
  function keepTicking(): void {
    if (!ticking && sessions.size > 0) ticking = clock.after(tickMs, tick);
  }

  function begin(http: HttpSession): void {
    http.active++;
    http.usedAt = clock.monotonic();
  }

  function over(http: HttpSession): void {
    http.active--;
    http.usedAt = clock.monotonic();
  }

  /** Finds the session of a request. Answers with an error and returns undefined if there is none. */
  function sessionOf(
    request: HttpRequest,
    response: HttpResponse,
    endpoint: Endpoint,
    principal: Principal,
    body?: Buffer,
  ): HttpSession | undefined {
    const id = request.headers['mcp-session-id'];
    if (typeof id !== 'string') {
      const why = 'the header Mcp-Session-Id is missing: initialize first';
      refuse(response, 400, refused, why, body);
      return undefined;
    }
    let http = sessions.find(id);
    if (!http)
      try {
        http = sessions.resume(id, endpoint, principal, clientInfo =>
          clientOf(clientInfo, request.headers),
        );
        if (http) keepTicking();
      } catch (error) {
        sendUnavailable(response, idOf(body), error);
        return undefined;
      }
    // A session belongs to the endpoint and the principal it was opened with. The id authenticates nobody.
    if (http?.endpoint === endpoint && isSamePrincipal(http.session.principal, principal))
      return http;
    const why = 'the session is unknown or over: initialize again';
    refuse(response, 404, sessionUnknown, why, body);
    return undefined;
  }

  function receive(
    request: HttpRequest,
    response: HttpResponse,
    body: Buffer,
    endpoint: Endpoint,
    principal: Principal,
  ): void {
    const accepts = acceptedTypes(request);
    if (!accepts.json && !accepts.stream)
      return refuse(
        response,
        406,
        refused,
        'Accept must name application/json or text/event-stream',
        body,
      );
    if (!isJson(request))
      return refuse(response, 415, refused, 'Content-Type must be application/json', body);
    const { batch, messages } = readMessages(body);
    const [first] = messages;
    // In a batch, the other messages are still answered.
    if (first?.kind === 'malformed' && messages.length === 1)
      return sendJson(response, 400, malformedAnswer(first));
    const { headers } = request;
    if (isModern(headers, messages))
      return modern.receive({
        headers,
        response,
        endpoint,
        principal,
        accepts,
        batch,
        message: first,
      });
    const version = headers['mcp-protocol-version'];
    if (version !== undefined && !isKnownVersion(version))
      return refuseVersion(response, version, body);
    const opening =
      !batch && first?.kind === 'request' && first.method === 'initialize' ? first : undefined;
    let http: HttpSession | undefined;
    if (opening && headers['mcp-session-id'] === undefined) {
      try {
        http = open(endpoint, principal, request.headers, opening);
      } catch (error) {
        return sendUnavailable(response, rawText(opening.bytes, opening.id), error);
      }
    } else http = sessionOf(request, response, endpoint, principal, body);
    if (!http) return;
    if (opening && http.session.protocolVersion !== undefined)
      return refuse(
        response,
        400,
        rpcCodes.invalidRequest,
        'the session is initialized already',
        body,
      );
    // The client could not end it: in a session a lost connection cancels nothing.
    if (!batch && first?.kind === 'request' && first.method === 'subscriptions/listen')
      return refuse(response, 400, rpcCodes.methodNotFound, 'sessions do not listen', body);
    if (batch && !allowsBatches(http.session.protocolVersion ?? ''))
      return refuse(
        response,
        400,
        rpcCodes.invalidRequest,
        `MCP ${http.session.protocolVersion} has no batches: send one message a request`,
      );
    if (posts.size >= maxPosts) return sendUnavailable(response, idOf(body), busy(posts.size));
    const post = createPost(response, http, {
      since: clock.monotonic(),
      batch,
      opening: opening !== undefined,
      acceptsJson: accepts.json,
      acceptsStream: accepts.stream,
      primes: http.session.protocolVersion === '2025-11-25',
      traceparent: traceparentOf(headers),
    });
    answer(post, messages, principal);
  }

  function open(
    endpoint: Endpoint,
    principal: Principal,
    headers: HttpRequest['headers'],
    { bytes, params }: Request,
  ): HttpSession {
    const members = membersOf(bytes, params);
    const text = (name: string): string => {
      const span = members?.get(name);
      return span && bytes[span.start] === 0x7b ? rawText(bytes, span) : '{}';
    };
    const asked = stringAt(bytes, members?.get('protocolVersion'));
    const protocolVersion = isKnownVersion(asked) ? asked : latestVersion;
    const client = { clientInfo: text('clientInfo'), capabilities: text('capabilities') };
    const http = sessions.open(endpoint, principal, clientOf(client.clientInfo, headers), {
      client,
      protocolVersion,
      openedAt: clock.now(),
    });
    keepTicking();
    return http;
  }

  /** Passes the messages to the session and sends the answers. */
  function answer(
    post: Post,
    messages: readonly (Message | Malformed)[],
    principal: Principal,
  ): void {
    begin(post.http);
    const number = posts.add(post);
    if (post.http.ready) void post.http.ready.then(() => accept(post, number, messages, principal));
    else accept(post, number, messages, principal);
  }

  function accept(
    post: Post,
    number: number,
    messages: readonly (Message | Malformed)[],
    principal: Principal,
  ): void {
    const { session } = post.http;
    const [first] = messages;
    if (messages.length === 1 && first && first.kind !== 'malformed')
      void session
        .accept(first, post, principal)
        .then(only => send(post, number, only ? [only] : []));
    else
      void answersTo(session, messages, post, principal).then(answers =>
        send(post, number, answers),
      );
  }

  function send(post: Post, number: number, answers: readonly ReplyBytes[]): void {
    const { http, options: how } = post;
    try {
      finish(post, answers);
      // After a refused initialize the client has no id of a session.
      if (how.opening && http.session.protocolVersion === undefined)
        void sessions.end(http, 'initialize was refused');
    } catch (error) {
      needs.log.error({ error: String(error) }, 'an answer could not be sent');
      post.response.destroy();
    } finally {
      posts.take(number);
      over(http);
      sessions.touch(http);
    }
  }

  function get(
    request: HttpRequest,
    response: HttpResponse,
    endpoint: Endpoint,
    principal: Principal,
  ): void {
    if (!acceptedTypes(request).stream)
      return refuse(response, 406, refused, 'Accept must name text/event-stream');
    const http = sessionOf(request, response, endpoint, principal);
    // A closed response emits no further close event, so the session would stay in use forever.
    if (!http || response.destroyed) return;
    const lastId = request.headers['last-event-id'];
    const from = lastId === undefined ? undefined : parseEventId(String(lastId));
    const stream = lastId === undefined ? http.standing : from && http.find(from.stream);
    if (!stream?.attach(response, from?.sequence))
      return refuse(
        response,
        400,
        refused,
        'the events after that Last-Event-ID are not kept any more',
      );
    begin(http);
    response.on('close', () => over(http));
  }

  return {
    get sessionCount() {
      return sessions.size;
    },
    handle(request, response, body, endpoint, principal) {
      const version = request.headers['mcp-protocol-version'];
      if (draining) return sendUnavailable(response, idOf(body), stopping());
      if (request.method === 'POST') return receive(request, response, body, endpoint, principal);
      if (version === modernVersion) return refuseMethod(request, response, 'POST');
      if (version !== undefined && !isKnownVersion(version))
        return refuseVersion(response, version);
      if (request.method === 'GET') return get(request, response, endpoint, principal);
      if (request.method === 'DELETE') {
        const http = sessionOf(request, response, endpoint, principal);
        if (!http) return;
        const ended = sessions.end(http, 'the client ended the session');
        if (ended) void ended.then(() => response.writeHead(204).end());
        else response.writeHead(204).end();
        return;
      }
      refuseMethod(request, response, 'GET, POST, DELETE');
    },
    end: (endpoint, reason) => sessions.endAll(reason, endpoint),
    async drain(graceMs) {
      draining = true;
      const until = clock.monotonic() + graceMs;
      // The router also counts calls without a session.
      const isBusy = () => posts.size > 0 || modern.isBusy || needs.router.inFlight > 0;
      // The caller of drain ends requests to listen in this turn.
      await Promise.resolve();
      while (isBusy() && clock.monotonic() < until)
        await new Promise<void>(resolve => clock.after(20, resolve));
      modern.endAll('the hub is stopping');
      needs.saved?.saveAll();
      sessions.endAll('the hub is stopping');
      ticking?.[Symbol.dispose]();
    },
  };
}

async function answersTo(
  session: Session,
  messages: readonly (Message | Malformed)[],
  post: Post,
  principal: Principal,
): Promise<readonly ReplyBytes[]> {
  const answers = await Promise.all(
    messages.map(async message =>
      message.kind === 'malformed'
        ? malformedAnswer(message)
        : await session.accept(message, post, principal),
    ),
  );
  return answers.filter(answer => answer !== undefined);
}

/** Identifies a client, whose sessions are counted: by the name that it gives itself, its program and its credentials. */
function clientOf(clientInfo: string, headers: HttpRequest['headers']): string {
  const bytes = Buffer.from(clientInfo);
  const members = membersOf(bytes, { start: 0, end: bytes.length });
  const name = stringAt(bytes, members?.get('name'));
  return JSON.stringify([name, headers['user-agent'], headers.authorization]);
}
