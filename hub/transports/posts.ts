import { type Clock, type Log, createSlotMap } from '#core';
import { type Malformed, type Message, type ReplyBytes, malformedAnswer, whole } from '#jsonrpc';
import type { Principal } from '#policy';
import type { ResponseStream } from '#upstream';
import { batchOf, sendJson } from './answer.ts';
import type { EventStream } from './event-stream.ts';
import type { HttpResponse } from './http-message.ts';
import type { HttpSession } from './http-session.ts';
import type { SessionTable } from './session-table.ts';

export type PostOptions = {
  /** When it began, on the monotonic clock. */
  readonly since: number;
  readonly acceptsJson: boolean;
  readonly acceptsStream: boolean;
  /** A batch is answered by an array, even with one answer. */
  readonly batch: boolean;
  /** Whether it is the `initialize` that opens the session. */
  readonly opening: boolean;
  /** The header of the POST by that name. */
  readonly traceparent?: string | undefined;
};

/** A POST that is being answered. */
export type Post = ResponseStream & {
  readonly response: HttpResponse;
  readonly http: HttpSession;
  readonly options: PostOptions;
  /** Set after a notification, or after a long wait. */
  events: EventStream | undefined;
};

/** A call that takes longer is answered on a stream, which survives a lost connection. */
const streamAfterMs = 2_000;

/** The POSTs of all sessions that are being answered. */
export function createPosts(sessions: SessionTable, clock: Clock, log: Pick<Log, 'error'>) {
  const posts = createSlotMap<Post>();

  function accept(
    post: Post,
    number: number,
    messages: readonly (Message | Malformed)[],
    principal: Principal,
  ): void {
    const [first] = messages;
    if (messages.length === 1 && first && first.kind !== 'malformed')
      void post.http.session
        .accept(first, post, principal)
        .then(only => send(post, number, only ? [only] : []));
    else void answersTo(messages, post, principal).then(answers => send(post, number, answers));
  }

  function send(post: Post, number: number, answers: readonly ReplyBytes[]): void {
    const { http, options } = post;
    try {
      finish(post, answers);
      // After a refused initialize the client has no id of a session.
      if (options.opening && http.session.protocolVersion === undefined)
        void sessions.end(http, 'initialize was refused');
    } catch (error) {
      log.error({ error: String(error) }, 'an answer could not be sent');
      post.response.destroy();
    } finally {
      posts.take(number);
      sessions.release(http);
      sessions.touch(http);
    }
  }

  return {
    get size() {
      return posts.size;
    },
    /** Passes the messages to the session and sends the answers. */
    answer(post: Post, messages: readonly (Message | Malformed)[], principal: Principal): void {
      const { http } = post;
      sessions.use(http);
      const number = posts.add(post);
      if (http.ready) void http.ready.then(() => accept(post, number, messages, principal));
      else accept(post, number, messages, principal);
    },
    /** Begins the streams of long calls. */
    streamLong(): void {
      const now = clock.monotonic();
      for (const [, post] of posts.entries())
        if (!post.events && now - post.options.since > streamAfterMs) beginStream(post);
    },
  };
}

async function answersTo(
  messages: readonly (Message | Malformed)[],
  post: Post,
  principal: Principal,
): Promise<readonly ReplyBytes[]> {
  const answers = await Promise.all(
    messages.map(async message =>
      message.kind === 'malformed'
        ? malformedAnswer(message)
        : await post.http.session.accept(message, post, principal),
    ),
  );
  return answers.filter(answer => answer !== undefined);
}

/** Has only one closure, because there is a post for each call. */
export function createPost(response: HttpResponse, http: HttpSession, options: PostOptions): Post {
  const post: Post = {
    response,
    http,
    options,
    events: undefined,
    traceparent: options.traceparent,
    send(bytes) {
      (beginStream(post) ?? http.standing).write(bytes);
    },
  };
  return post;
}

/** Begins an event stream if the client accepts one, so that a long call can be resumed. */
function beginStream(post: Post): EventStream | undefined {
  if (!post.options.acceptsStream || post.options.opening) return undefined;
  // The answer was sent without a stream.
  if (post.response.headersSent && !post.events) return undefined;
  return openStream(post);
}

function openStream(post: Post): EventStream {
  if (post.events) return post.events;
  const { http, options, response } = post;
  post.events = http.openStream();
  post.events.attach(response, undefined);
  // An event without data makes the stream resumable.
  if (!options.opening && http.session.protocolVersion === '2025-11-25') post.events.prime();
  return post.events;
}

/** Sends the answers of a POST as JSON, or on its stream if it has one. */
export function finish(post: Post, answers: readonly ReplyBytes[]): void {
  const { response, http, options } = post;
  const [only] = answers;
  if (!only) response.writeHead(202).end();
  else if (post.events || !options.acceptsJson) {
    const events = openStream(post);
    for (const answer of answers) events.write(whole(answer));
    http.finish(events);
  } else {
    const body = options.batch ? batchOf(answers) : only;
    // A refused initialize opens no session.
    const opened = options.opening && http.session.protocolVersion !== undefined;
    sendJson(response, 200, body, opened ? { 'mcp-session-id': http.id } : undefined);
  }
}
