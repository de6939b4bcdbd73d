import { type Clock, type Log, createSlotMap } from '#core';
import { type Malformed, type Message, type ReplyBytes, malformedAnswer, whole } from '#jsonrpc';
import { allowsEmptyEvents } from '#mcp';
import type { Principal } from '#policy';
import type { ResponseStream } from '#upstream';
import type { EventStream } from './event-stream.ts';
import { type EndpointRequest, batchOf, sendJson, traceparentOf } from './http-message.ts';
import type { HttpSession } from './http-session.ts';
import { createRequestShares } from './request-shares.ts';
import type { SessionTable } from './session-table.ts';

/** A POST that is being answered. */
type Post = ResponseStream & {
  readonly request: EndpointRequest;
  readonly http: HttpSession;
  /** Start of the POST on the monotonic clock, in ms. */
  readonly since: number;
  /** True for a batch, which is answered by an array even if there is one answer. */
  readonly batch: boolean;
  /** True for the `initialize` that opens the session. */
  readonly opening: boolean;
  /** True if a message of the POST expects an answer. Otherwise MCP requires status 202, without a stream. */
  readonly isAnswered: boolean;
  /** The event stream of the answer. Set after a notification, or after `streamAfterMs`, until the answer. */
  events: EventStream | undefined;
  /** True if the client ended the session: the stream ends without an answer. */
  isAbandoned: boolean;
};

/** Time in ms after which a call is answered on a stream, which survives a lost connection. */
const streamAfterMs = 2_000;

const defaultMaxPosts = 10_000;

/** Answers the POSTs of all sessions. `maxPosts`: maximum number of unanswered ones. */
export function createPosts(
  sessions: SessionTable,
  clock: Clock,
  log: Pick<Log, 'error'>,
  maxPosts = defaultMaxPosts,
) {
  const posts = createSlotMap<Post>();
  const shares = createRequestShares(maxPosts);

  function accept(post: Post, number: number, messages: readonly (Message | Malformed)[]): void {
    const [first] = messages;
    if (messages.length === 1 && first && first.kind !== 'malformed')
      void post.http.session
        .accept(first, post, post.request.principal)
        .then(only => send(post, number, only ? [only] : []));
    else void answersTo(post, messages).then(answers => send(post, number, answers));
  }

  function send(post: Post, number: number, answers: readonly ReplyBytes[]): void {
    const { http, opening } = post;
    try {
      finish(post, answers);
      // After a refused `initialize`, the client has no session id.
      if (opening && http.session.protocolVersion === undefined)
        void sessions.end(http, 'initialize was refused');
    } catch (error) {
      log.error({ error: String(error) }, 'an answer could not be sent');
      post.request.response.destroy();
    } finally {
      posts.take(number);
      shares.remove(post.request.principal);
      sessions.release(http);
    }
  }

  /**
   * Begins streams for all requests of a session. Call this before they are cancelled: the official Python SDK throws
   * if it reads an answer in JSON while it closes, but not if it reads one on a stream.
   */
  function beginStreams(http: HttpSession): void {
    for (const [, post] of posts.entries()) if (post.http === http) beginStream(post);
  }

  /**
   * Begins streams that end without an answer for all requests of a session. Call this before the client's end of the
   * session cancels them: the official Python SDK no longer takes answers then, and prints a traceback for each.
   */
  function abandonStreams(http: HttpSession): void {
    for (const [, post] of posts.entries())
      if (post.http === http && beginStream(post)) post.isAbandoned = true;
  }

  return {
    get size() {
      return posts.size;
    },
    /** Returns the reason to refuse another POST of a principal; undefined if there is room. */
    refusal: (principal: Principal) => shares.refusal(principal, posts.size),
    /** Passes the messages of a POST to the session and sends the answers. */
    answer(post: Post, messages: readonly (Message | Malformed)[]): void {
      const { http } = post;
      if (messages.some(isCancellation)) beginStreams(http);
      sessions.use(http);
      const number = posts.add(post);
      shares.add(post.request.principal);
      if (http.ready) void http.ready.then(() => accept(post, number, messages));
      else accept(post, number, messages);
    },
    abandonStreams,
    /** Begins streams for calls that take longer than `streamAfterMs`. */
    streamLong(): void {
      const now = clock.monotonic();
      for (const [, post] of posts.entries())
        if (!post.events && now - post.since > streamAfterMs) beginStream(post);
    },
  };
}

async function answersTo(
  post: Post,
  messages: readonly (Message | Malformed)[],
): Promise<readonly ReplyBytes[]> {
  const answers = await Promise.all(
    messages.map(async message =>
      message.kind === 'malformed'
        ? malformedAnswer(message)
        : await post.http.session.accept(message, post, post.request.principal),
    ),
  );
  return answers.filter(answer => answer !== undefined);
}

/** Creates the record of a POST. It has only one closure, because there is a record for each call. */
export function createPost(
  request: EndpointRequest,
  http: HttpSession,
  since: number,
  batch: boolean,
  opening: boolean,
  messages: readonly (Message | Malformed)[],
): Post {
  const post: Post = {
    request,
    http,
    since,
    batch,
    opening,
    isAnswered: messages.some(hasAnswer),
    events: undefined,
    isAbandoned: false,
    traceparent: traceparentOf(request.headers),
    send(bytes) {
      (beginStream(post) ?? http.standing).write(bytes);
    },
  };
  return post;
}

const isCancellation = (message: Message | Malformed) =>
  message.kind === 'notification' && message.method === 'notifications/cancelled';

const hasAnswer = ({ kind }: Message | Malformed) => kind === 'request' || kind === 'malformed';

/** Begins an event stream if the client accepts one, so that the client can resume a long call. */
function beginStream(post: Post): EventStream | undefined {
  const { response, acceptsStream } = post.request;
  if (!acceptsStream || post.opening || !post.isAnswered) return undefined;
  // The answer was sent already, either without a stream or as the last event of a stream.
  if (response.headersSent && !post.events) return undefined;
  return openStream(post);
}

function openStream(post: Post): EventStream {
  if (post.events) return post.events;
  const { http, opening, request } = post;
  post.events = http.openStream(opening && http.session.protocolVersion === undefined);
  post.events.attach(request.response, undefined);
  // An event without data makes the stream resumable.
  if (!opening && allowsEmptyEvents(http.session.protocolVersion)) post.events.prime();
  return post.events;
}

/** Sends the answers of a POST as JSON, or on its stream if it has one. */
export function finish(post: Post, answers: readonly ReplyBytes[]): void {
  const { http, opening } = post;
  const { response, acceptsJson } = post.request;
  const [only] = answers;
  if (!only) response.writeHead(202).end();
  else if (post.events || !acceptsJson) {
    const events = openStream(post);
    if (!post.isAbandoned) for (const answer of answers) events.write(whole(answer));
    http.finish(events);
    // Later messages about the request must not be written to the ended stream, which no client reads.
    post.events = undefined;
  } else {
    const body = post.batch ? batchOf(answers) : only;
    // A refused `initialize` opens no session.
    const opened = opening && http.session.protocolVersion !== undefined;
    sendJson(response, 200, body, opened ? { 'mcp-session-id': http.id } : undefined);
  }
}
