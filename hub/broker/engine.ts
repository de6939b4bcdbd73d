import type { ClientRequest, IncomingMessage } from 'node:http';
import { http } from '#core';
import { connect } from 'node:net';
import { HubError, messageOf } from '#core';

/** A bound for answers that the broker itself reads: what `inspect` says of one object. */
const mostAnswerBytes = 16 * 1024 * 1024;

export type EngineCall = {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The engine, on the socket that only the broker holds. */
export interface Engine {
  /** A request that the caller ends. Its answer may last for ever: nothing here times out. */
  open(call: EngineCall): ClientRequest;
  /** Asks for one JSON value. Throws HUB_ENGINE_UNREACHABLE where nothing answers. */
  ask(path: string): Promise<{ readonly status: number; readonly body: unknown }>;
  /** The error that stands for a connection that failed. */
  unreachable(cause: unknown): HubError;
}

/** An engine that listens on a unix socket. */
export function createEngine(socketPath: string): Engine {
  const engine: Engine = {
    open: call =>
      http.request({
        ...call,
        headers: { Host: 'engine', ...call.headers },
        // Without an agent, so that each call has a connection of its own. Half of it may be ended: an
        // attached client that has said all it has to say still hears the rest.
        createConnection: () => connect({ path: socketPath, allowHalfOpen: true }),
      }),
    async ask(path) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const asked = engine.open({ method: 'GET', path });
      asked.on('response', resolve);
      asked.on('error', error => reject(engine.unreachable(error)));
      asked.end();
      const answer = await promise;
      const text = await readAll(answer, mostAnswerBytes).catch((error: unknown) => {
        throw engine.unreachable(error);
      });
      return { status: answer.statusCode ?? 0, body: parse(text) };
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
 * All that a request or an answer holds, as text. Rejects with a RangeError when it is more than
 * `mostBytes`; the rest is then read and forgotten, so that there is still someone to answer.
 */
export function readAll(message: IncomingMessage, mostBytes: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let chunks: Buffer[] = [];
  let bytes = 0;
  message.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes <= mostBytes) {
      chunks.push(chunk);
    } else {
      chunks = [];
      reject(new RangeError(`more than ${mostBytes} bytes`));
    }
  });
  message.on('end', () => resolve(Buffer.concat(chunks).toString('utf8')));
  message.on('error', reject);
  return promise;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
