import type { ServerResponse } from 'node:http';
import type { Exchange } from '#routing';
import type { EventStream } from './event-stream.ts';
import type { HttpSession } from './http-session.ts';

/** The answering of one POST. */
export interface PostExchange extends Exchange {
  /** When it began, on the monotonic clock. */
  readonly since: number;
  readonly streaming: boolean;
  /** Begins an event stream, where the client takes one, so that a long call can be resumed. */
  stream(): void;
  /** The answers, one for each request of the POST. */
  finish(answers: readonly Buffer[], batch: boolean): void;
}

export type ExchangeOptions = {
  readonly since: number;
  readonly acceptsJson: boolean;
  readonly acceptsStream: boolean;
  /** Headers of the answer besides those of its body, asked for when it is sent. */
  readonly headers: () => Readonly<Record<string, string>>;
  /** Whether the client knows events without data, by which a stream becomes resumable (2025-11-25). */
  readonly primes: boolean;
};

/** Answers as JSON, unless something must be said before the answer is there, or it takes long. */
export function createPostExchange(
  response: ServerResponse,
  http: HttpSession,
  options: ExchangeOptions,
): PostExchange {
  let events: EventStream | undefined;

  function open(): EventStream {
    if (events) return events;
    events = http.openStream();
    events.attach(response, undefined);
    if (options.primes) events.prime();
    return events;
  }

  return {
    since: options.since,
    get streaming() {
      return events !== undefined;
    },
    related(bytes) {
      if (options.acceptsStream) open().write(bytes);
      else http.standing.write(bytes);
    },
    stream() {
      if (options.acceptsStream) open();
    },
    finish(answers, batch) {
      if (events || !options.acceptsJson) {
        const stream = open();
        for (const answer of answers) stream.write(answer);
        http.finish(stream);
        return;
      }
      const body =
        batch || !answers[0]
          ? Buffer.from(`[${answers.map(answer => answer.toString()).join(',')}]`)
          : answers[0];
      sendJson(response, 200, body, options.headers());
    },
  };
}

/** One JSON body, in one write. */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: Buffer,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': body.length,
    ...headers,
  });
  response.end(body);
}
