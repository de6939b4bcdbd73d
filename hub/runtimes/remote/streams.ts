import type { IncomingMessage } from 'node:http';
import { HubError, backoffMs, sleep } from '#core';
import type { HttpChannel } from './http-channel.ts';
import type { RemoteEndpoint, TransportNeeds } from './http-client.ts';

type Needs = Pick<TransportNeeds, 'clock' | 'random'> & {
  /** Opens the stream, or resumes it after the event with this id. Rejects if the server refuses. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<IncomingMessage>;
  readonly link: Pick<HttpChannel, 'read'>;
};

/** A stream that began as the response to a request. `about`: id of the request, as JSON text. */
type Begun = { readonly stream: IncomingMessage; readonly about: string | undefined };

/** Time in ms after which the end of a stream is not a failure: proxies close idle streams. */
const stableMs = 10_000;
/**
 * Minimum pause in ms before a stream is resumed, even if the server's `retry` is lower: a server must not keep the hub
 * busy.
 */
const minRetryMs = 100;

/** Reads streams of one server, and resumes broken ones (MCP 2025-11-25, transports, "Resumability and Redelivery"). */
export function createStreams(
  { server, reconnect }: Pick<RemoteEndpoint, 'server' | 'reconnect'>,
  { clock, random, open, link }: Needs,
) {
  const broken = (problem: string, cause: unknown) =>
    new HubError('HUB_REMOTE_UNREACHABLE', `${server} ${problem}`, {
      cause,
      data: { server, retryable: true },
    });
  const early = (cause: unknown) => broken('ended the stream before the answer', cause);

  return {
    /** Reads a stream, and resumes it when it breaks, until `done`. Rejects if it cannot be resumed. */
    async follow(first: Begun | undefined, done: () => boolean, signal: AbortSignal) {
      let lastEventId: string | undefined;
      let retryMs: number | undefined;
      let failures = 0;
      for (let stream = first?.stream; ; stream = undefined) {
        const openedMs = clock.monotonic();
        let cause: unknown;
        try {
          stream ??= await open(lastEventId, signal);
          await link.read(stream, first?.about, {
            event({ id }) {
              failures = 0;
              lastEventId = id ?? lastEventId;
            },
            retry: ms => (retryMs = Math.max(minRetryMs, Math.min(ms, reconnect.maxMs))),
          });
        } catch (error) {
          if (isFinal(error) || signal.aborted) throw error;
          cause = error;
        }
        if (done()) return;
        if (first && lastEventId === undefined) throw early(cause);
        if (clock.monotonic() - openedMs > stableMs) failures = 0;
        if (++failures > reconnect.attempts)
          throw broken('did not take up its stream again', cause);
        const backoff = backoffMs({ ...reconnect, jitter: 0.5 }, failures, random);
        await sleep(retryMs ?? backoff, { clock, signal });
        signal.throwIfAborted();
      }
    },
    /** Reads a stream that cannot be resumed. Rejects with HUB_REMOTE_UNREACHABLE if it ends before `done`. */
    async read({ stream, about }: Begun, done: () => boolean): Promise<void> {
      let cause: unknown;
      try {
        await link.read(stream, about, {});
      } catch (error) {
        cause = error;
      }
      if (!done()) throw early(cause);
    },
  };
}

const isFinal = (error: unknown) => error instanceof HubError && error.data['status'] !== undefined;
