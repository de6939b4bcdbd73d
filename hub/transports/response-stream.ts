import { type ReplyBytes, whole } from '#jsonrpc';
import type { ResponseStream } from '#upstream';
import { batchOf, sendJson } from './answer.ts';
import type { EventStream } from './event-stream.ts';
import type { HttpResponse } from './http-message.ts';
import type { HttpSession } from './http-session.ts';

export type PostOptions = {
  /** When it began, on the monotonic clock. */
  readonly since: number;
  /** A batch is answered by an array, even with one answer. */
  readonly batch: boolean;
  /** Whether it is the `initialize` that opens the session. */
  readonly opening: boolean;
  readonly acceptsJson: boolean;
  readonly acceptsStream: boolean;
  /** Whether the stream begins with an event without data, which makes it resumable (2025-11-25). */
  readonly primes: boolean;
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
export function beginStream(post: Post): EventStream | undefined {
  if (!post.options.acceptsStream || post.options.opening) return undefined;
  // The answer was sent without a stream.
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
