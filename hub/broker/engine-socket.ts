import type { ClientRequest, IncomingMessage } from 'node:http';
import { http, tryParseJson } from '#core';
import { connect } from 'node:net';
import { HubError, messageOf } from '#core';

/** Maximum size in bytes of an answer that the broker itself reads. */
const maxAnswerBytes = 16 * 1024 * 1024;

export type EngineCall = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The connection to the engine, on the socket that only the broker can open. */
export interface EngineSocket {
  /** Opens a request, which the caller must end. It never times out, because an event stream lasts for ever. */
  open(call: EngineCall): ClientRequest;
  /**
   * Requests one JSON value. The body is undefined if it is not JSON. Rejects with HUB_ENGINE_UNREACHABLE if
   * the engine does not answer.
   */
  getJson(path: string): Promise<{ readonly status: number; readonly body: unknown }>;
  /** Wraps a connection error as HUB_ENGINE_UNREACHABLE. */
  unreachable(cause: unknown): HubError;
}

/** Creates the connection to an engine on a unix socket. Nothing is opened before a call. */
export function createEngineSocket(socketPath: string): EngineSocket {
  const engine: EngineSocket = {
    open: call =>
      http.request({
        ...call,
        headers: { Host: 'engine', ...call.headers },
        // Each call gets its own connection instead of an agent's. It allows half-open streams: an attached
        // client that has closed its sending side still receives output.
        createConnection: () => connect({ path: socketPath, allowHalfOpen: true }),
      }),
    async getJson(path) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const request = engine.open({ method: 'GET', path });
      request.on('response', resolve);
      request.on('error', error => reject(engine.unreachable(error)));
      request.end();
      const answer = await promise;
      const text = await readAll(answer, maxAnswerBytes).catch((error: unknown) => {
        throw engine.unreachable(error);
      });
      return { status: answer.statusCode ?? 0, body: tryParseJson(text) };
    },
    unreachable: cause =>
      new HubError(
        'HUB_ENGINE_UNREACHABLE',
        `the broker cannot reach the Docker engine at ${socketPath}: ${messageOf(cause)}`,
        { cause },
      ),
  };
  return engine;
}

/**
 * Reads a whole request or response as text. Rejects with a RangeError above `maxBytes`, but still drains the
 * rest, so that the connection can carry an answer.
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
