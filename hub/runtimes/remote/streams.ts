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
  /** Opens the stream again after the event with this id. Rejects where the server refuses. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<IncomingMessage>;
  readonly message: (data: Buffer, about: string | undefined) => void;
  readonly oversized: (head: Buffer, tail: Buffer, bytes: number) => void;
  /** Settles when streams may be read on; undefined where they may now. */
  readonly whenReadable: () => Promise<void> | undefined;
};

/** A stream that has begun, in reply to the request with this id, as JSON text. */
type Begun = { readonly stream: IncomingMessage; readonly about: string | undefined };

/** Reads streams of messages, and opens those again that break before their end. */
export type Streams = {
  /**
   * Reads until `done`. Rejects when the server refuses to go on, when it cannot be reached any more,
   * or, for a stream that began with an answer, when it ends early and cannot be resumed.
   */
  follow(first: Begun | undefined, done: () => boolean, signal: AbortSignal): Promise<void>;
  /**
   * Reads a stream that cannot be taken up again, to its end. Rejects with HUB_REMOTE_UNREACHABLE where
   * it ends or breaks, and `done` is not so then.
   */
  read(begun: Begun, done: () => boolean): Promise<void>;
};

/** A stream that lived this long was a good one: that proxies end quiet ones is no failure. */
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

/** The server has answered, and the answer is no. */
function isFinal(error: unknown): boolean {
  return error instanceof HubError && error.data['status'] !== undefined;
}

function broken(message: string, server: string, cause: unknown): HubError {
  return new HubError('HUB_REMOTE_UNREACHABLE', message, {
    cause,
    data: { server, retryable: true },
  });
}
