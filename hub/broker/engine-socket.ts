import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { type Clock, HubError, http, messageOf, tryParseJson, within } from '#core';

/** Maximum size in bytes of an engine response that the broker itself reads. */
const maxAnswerBytes = 16 * 1024 * 1024;
/**
 * Timeout of a call whose response the broker reads, in ms. Above that of most calls of the hub (30 s), so that the hub
 * reports its own first.
 */
const answerMs = 60_000;

/** An HTTP request to the engine. */
type EngineRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** Client of the engine, on the socket that only the broker can open. */
export type EngineSocket = ReturnType<typeof createEngineSocket>;

/** Creates a client of an engine on a unix socket. Opens no connection before the first call. */
export function createEngineSocket(socketPath: string, clock: Pick<Clock, 'after'>) {
  /** Opens a request, which the caller must end. It has no timeout, because an event stream does not end by itself. */
  const open = (request: EngineRequest) =>
    http.request({
      ...request,
      headers: { Host: 'engine', ...request.headers },
      // Each call gets its own connection, not one of an agent. It allows half-open streams: an attached client that
      // has closed its sending side still receives output.
      createConnection: () => connect({ path: socketPath, allowHalfOpen: true }),
    });

  /** Wraps a connection error in HUB_ENGINE_UNREACHABLE. */
  const unreachable = (cause: unknown) =>
    new HubError(
      'HUB_ENGINE_UNREACHABLE',
      `the broker cannot reach the Docker engine at ${socketPath}: ${messageOf(cause)}`,
      { cause },
    );

  return {
    open,
    unreachable,
    /**
     * Sends a GET and parses the response. `body` is undefined if it is not JSON. Rejects with HUB_ENGINE_UNREACHABLE,
     * after `timeoutMs` at the latest: by default a minute.
     */
    async getJson(path: string, timeoutMs = answerMs) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const request = open({ method: 'GET', path });
      request.on('response', resolve);
      request.on('error', reject);
      request.end();
      try {
        return await within(timeoutMs, { clock }, async () => {
          const answer = await promise;
          const body: unknown = tryParseJson(await readAll(answer, maxAnswerBytes));
          return { status: answer.statusCode ?? 0, body };
        });
      } catch (error) {
        request.destroy();
        throw unreachable(error);
      }
    },
  };
}

/**
 * Reads a message as text. Above `maxBytes`, it rejects with RangeError but drains the rest, so that a response can be
 * sent.
 */
export function readAll(message: IncomingMessage, maxBytes: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let chunks: Buffer[] = [];
  let bytes = 0;
  message.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= maxBytes) {
      chunks.push(chunk);
    } else {
      chunks = [];
      reject(new RangeError(`more than ${maxBytes} bytes`));
    }
  });
  message.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  message.on('error', reject);
  return promise;
}
