import { type ReplyBytes, whole } from '#jsonrpc';
import type { Exchange } from '#routing';
import { batchOf, sendJson } from './answer.ts';
import type { EventStream } from './event-stream.ts';
import type { HttpResponse } from './http-message.ts';
import type { HttpSession } from './http-session.ts';

export type PostOptions = {
  /** When it began, on the monotonic clock. */
  readonly since: number;
  /** A batch is answered by an array, also where one message of it is answered. */
  readonly batch: boolean;
  /** Whether it is the `initialize` that opens the session. */
  readonly opening: boolean;
  readonly acceptsJson: boolean;
  readonly acceptsStream: boolean;
  /** Whether the client knows events without data, by which a stream becomes resumable (2025-11-25). */
  readonly primes: boolean;
  /** The header of the POST by that name. */
  readonly traceparent?: string | undefined;
};

/** The answering of one POST. */
export type Post = Exchange & {
  readonly response: HttpResponse;
  readonly http: HttpSession;
  readonly options: PostOptions;
  /** Set once something was said before the answer, or it took long. */
  events: EventStream | undefined;
};

/** It has one function of its own and no more, as each call has one of these. */
export function createPost(response: HttpResponse, http: HttpSession, options: PostOptions): Post {
  const post: Post = {
    response,
    http,
    options,
    events: undefined,
    traceparent: options.traceparent,
    related(bytes) {
      (beginStream(post) ?? http.standing).write(bytes);
    },
  };
  return post;
}

/** Begins an event stream, where the client takes one, so that a long call can be resumed. */
export function beginStream(post: Post): EventStream | undefined {
  if (!post.options.acceptsStream || post.options.opening) return undefined;
  // What is said after the answer has no stream to be said on.
  if (post.response.headersSent && !post.events) return undefined;
  return openStream(post);
}

function openStream(post: Post): EventStream {
  if (post.events) return post.events;
  post.events = post.http.openStream();
  post.events.attach(post.response, undefined);
  if (post.options.primes) post.events.prime();
  return post.events;
}

/** Sends the answers, one for each request of the POST: as JSON, unless there is a stream. */
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
    // A client whose initialize is refused gets no session.
    const opened = options.opening && http.session.protocolVersion !== undefined;
    sendJson(response, 200, body, opened ? { 'mcp-session-id': http.id } : undefined);
  }
}
