import type { Agent, IncomingMessage } from 'node:http';
import { type Clock, HubError, http, https, messageOf } from '#core';

export type HttpRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Ends the request and the reading of its answer. */
  readonly signal: AbortSignal;
  /** Called once the whole request is on its way. */
  readonly sent?: () => void;
};

/** Connections that are kept for the next request: those to one host serve whatever runs there. */
export type Connections = {
  /** What a request to this address goes out by. */
  agentFor(url: URL): Agent;
};

/** Requests in the name of one server. */
export type HttpClient = {
  /**
   * Resolves with the head of the answer, whatever its status is; redirects are not followed, because
   * headers may hold secrets. Rejects with HUB_REMOTE_UNREACHABLE when there is none.
   */
  request(request: HttpRequest): Promise<IncomingMessage>;
};

export type HttpClientOptions = { readonly server: string; readonly connectTimeoutMs: number };

/**
 * An idle connection is dropped earlier than servers drop theirs (5 s in Node and uvicorn): a request
 * that goes out on a connection which is just being closed fails, and a tool call must not be repeated.
 */
const idleMs = 4000;
/** No more idle connections are kept to one host: as many as a server has requests under way. */
const maxIdle = 64;

/** Opens nothing by itself. Idle connections end by themselves and keep no process running. */
export function createConnections(): Connections {
  // The timeout of an agent only ends connections that carry no request.
  const options = { keepAlive: true, timeout: idleMs, maxFreeSockets: maxIdle };
  const agents = { plain: new http.Agent(options), secure: new https.Agent(options) };
  return { agentFor: url => (isSecure(url) ? agents.secure : agents.plain) };
}

const isSecure = ({ protocol }: URL) => protocol === 'https:';

/**
 * node:http rather than fetch: fetch ends an answer that is silent for five minutes, which the stream
 * of a quiet server is, and the setting for it is not part of Node.
 */
export function createHttpClient(
  options: HttpClientOptions,
  needs: { readonly clock: Clock; readonly connections: Connections },
): HttpClient {
  return {
    request({ method, url: target, headers, body, signal, sent }) {
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const secure = isSecure(target);
      const length = body ? { 'content-length': String(body.length) } : {};
      const request = (secure ? https : http).request(target, {
        agent: needs.connections.agentFor(target),
        method,
        // What is compressed could be larger than every bound once it is not.
        headers: { ...headers, ...length, 'accept-encoding': 'identity' },
      });
      let response: IncomingMessage | undefined;
      let connecting: Disposable | undefined;
      const abort = () => (response ?? request).destroy(new Error('it was given up'));
      request.on('socket', socket => {
        if (!socket.connecting) return;
        connecting = needs.clock.after(options.connectTimeoutMs, () =>
          request.destroy(new Error(`no connection within ${options.connectTimeoutMs / 1000} s`)),
        );
        const connected = () => connecting?.[Symbol.dispose]();
        socket.once(secure ? 'secureConnect' : 'connect', connected);
      });
      request.on('finish', () => sent?.());
      request.on('response', answer => {
        response = answer;
        // Whoever reads it hears of the error too; without a reader it is nobody's.
        answer.on('error', () => {});
        resolve(answer);
      });
      request.on('error', cause => {
        reject(
          new HubError(
            'HUB_REMOTE_UNREACHABLE',
            `${options.server} cannot be reached at ${shown(target)}: ${messageOf(cause)}. Check that it runs and that "url" is right`,
            { cause, data: { server: options.server, retryable: true } },
          ),
        );
      });
      request.on('close', () => {
        connecting?.[Symbol.dispose]();
        signal.removeEventListener('abort', abort);
      });
      if (signal.aborted) abort();
      else signal.addEventListener('abort', abort);
      request.end(body);
      return promise;
    },
  };
}

/** A URL for people: without credentials and query, which may be secrets. */
export function shown(url: URL): string {
  return url.origin + url.pathname;
}
