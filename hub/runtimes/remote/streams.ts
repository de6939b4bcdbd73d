import type { IncomingMessage } from 'node:http';
import { type Clock, HubError, backoffMs, sleep } from '#core';
import { createEventParser } from './event-parser.ts';
import type { Reconnect } from './transport.ts';

type Options = {
  readonly server: string;
  readonly maxLineBytes: number;
  readonly reconnect: Reconnect;
};

type Needs = {
  readonly clock: Clock;
  readonly random: () => number;
  /** Resumes the stream after the event with this id. Rejects if the server refuses. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<IncomingMessage>;
  readonly message: (data: Buffer, about: string | undefined) => void;
  readonly oversized: (head: Buffer, tail: Buffer, bytes: number) => void;
  /** Resolves when reading may continue. Undefined: now. */
  readonly whenReadable: () => Promise<void> | undefined;
};

/** A stream that began as the response to a request. `about`: id of the request, as JSON text. */
type Begun = { readonly stream: IncomingMessage; readonly about: string | undefined };

/** Reads streams of messages, and resumes broken ones. */
export type Streams = {
  /**
   * Reads until `done`. Rejects if the server refuses to resume the stream or cannot be reached, or if the response of a
   * request ends early and cannot be resumed.
   */
  follow(first: Begun | undefined, done: () => boolean, signal: AbortSignal): Promise<void>;
  /** Reads a stream that cannot be resumed. Rejects with HUB_REMOTE_UNREACHABLE if it ends before `done`. */
  read(begun: Begun, done: () => boolean): Promise<void>;
};

/** Time in ms after which the end of a stream is not a failure: proxies close idle streams. */
const stableMs = 10_000;

/** Streams of one server (MCP 2025-11-25, transports, "Resumability and Redelivery"). */
export function createStreams(options: Options, needs: Needs): Streams {
  const { server, reconnect } = options;
  const { clock } = needs;

  async function read(stream: IncomingMessage, to: { push(chunk: Buffer): void }): Promise<void> {
    for await (const chunk of stream) {
      to.push(chunk);
      const held = needs.whenReadable();
      if (held) await held;
    }
  }

  return {
    async follow(first, done, signal) {
      let lastEventId: string | undefined;
      let retryMs: number | undefined;
      let failures = 0;
      const parser = () =>
        createEventParser(
          { maxBytes: options.maxLineBytes },
          {
            event({ type, id, data }) {
              failures = 0;
              lastEventId = id ?? lastEventId;
              if (type === 'message' && data.length > 0) needs.message(data, first?.about);
            },
            oversized: needs.oversized,
            retry: ms => (retryMs = Math.min(ms, reconnect.maxMs)),
          },
        );
      for (let stream = first?.stream; ; stream = undefined) {
        const openedMs = clock.monotonic();
        let cause: unknown;
        try {
          stream ??= await needs.open(lastEventId, signal);
          const events = parser();
          await read(stream, events);
        } catch (error) {
          if (isFinal(error) || signal.aborted) throw error;
          cause = error;
        }
        if (done()) return;
        if (first && lastEventId === undefined) throw early(server, cause);
        if (clock.monotonic() - openedMs > stableMs) failures = 0;
        if (++failures > reconnect.attempts)
          throw broken(`${server} did not take up its stream again`, server, cause);
        const backoff = backoffMs({ ...reconnect, jitter: 0.5 }, failures, needs.random);
        await sleep(retryMs ?? backoff, { clock, signal });
        signal.throwIfAborted();
      }
    },
    async read({ stream, about }, done) {
      const events = createEventParser(
        { maxBytes: options.maxLineBytes },
        {
          event: ({ type, data }) => {
            if (type === 'message' && data.length > 0) needs.message(data, about);
          },
          oversized: needs.oversized,
          retry() {},
        },
      );
      let cause: unknown;
      try {
        await read(stream, events);
      } catch (error) {
        cause = error;
      }
      if (!done()) throw early(server, cause);
    },
  };
}

const early = (server: string, cause: unknown) =>
  broken(`${server} ended the stream before the answer`, server, cause);

/** True if the server refused. */
function isFinal(error: unknown): boolean {
  return error instanceof HubError && error.data['status'] !== undefined;
}

function broken(message: string, server: string, cause: unknown): HubError {
  return new HubError('HUB_REMOTE_UNREACHABLE', message, {
    cause,
    data: { server, retryable: true },
  });
}
