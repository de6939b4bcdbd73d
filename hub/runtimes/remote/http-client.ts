import type { IncomingMessage } from 'node:http';
import { type Clock, type Log, HubError, http, https, messageOf, withoutSecrets } from '#core';
import type { Channel } from '#jsonrpc';
import type { LaunchSpec } from '#runtimes';

export type RemoteEndpoint = Pick<LaunchSpec, 'server' | 'maxLineBytes' | 'maxWaitingBytes'> & {
  readonly url: URL;
  /** HTTP headers that are sent with every request. Values may be secrets. */
  readonly headers: Readonly<Record<string, string>>;
  readonly reconnect: Reconnect;
  /** Removes the values of the entry's headers and of its URL from a text. */
  readonly redact: (text: string) => string;
};

/** Backoff for resuming a stream, unless the server sends `retry`. */
export type Reconnect = {
  readonly firstMs: number;
  readonly maxMs: number;
  /** Maximum number of consecutive attempts without an event. */
  readonly attempts: number;
};

export type TransportNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly random: () => number;
  readonly http: HttpClient;
};

export type Transport = {
  readonly channel: Channel;
  /** True if the server may use sessions, as far as can be determined without opening one. Never rejects. */
  readonly mayKeepSessions?: (signal: AbortSignal) => Promise<boolean>;
  endSession(signal: AbortSignal): Promise<void>;
};

type RemoteRequest = {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Buffer;
  /** Aborts the request and the response. */
  readonly signal: AbortSignal;
  readonly sent?: () => void;
};

/** Idle timeout in ms, below that of servers (5 s in Node): tool calls on a closing connection cannot be repeated. */
const idleMs = 4000;
/** Maximum number of idle connections per host. Equals the maximum number of requests in flight per server. */
const maxIdle = 64;

/**
 * HTTP agents with pools of idle connections, which all servers on a host share. They do not keep the process alive.
 */
type HttpAgents = ReturnType<typeof createAgents>;

export function createAgents() {
  // The timeout of an agent applies only to idle connections.
  const options = { keepAlive: true, timeout: idleMs, maxFreeSockets: maxIdle };
  return { plain: new http.Agent(options), secure: new https.Agent(options) };
}

export type HttpClient = ReturnType<typeof createHttpClient>;

/**
 * Creates an HTTP client on node:http: fetch aborts a response after five minutes of silence, and has no option for
 * that.
 */
export function createHttpClient(
  options: { readonly server: string; readonly connectTimeoutMs: number },
  { clock, agents }: { readonly clock: Clock; readonly agents: HttpAgents },
) {
  return {
    /**
     * Sends a request and resolves with any response. Follows no redirects: headers may be secret. Rejects with
     * HUB_REMOTE_UNREACHABLE.
     */
    request(asked: RemoteRequest): Promise<IncomingMessage> {
      const { method, url: target, headers, body, signal, sent } = asked;
      const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
      const secure = target.protocol === 'https:';
      const length = body ? { 'content-length': String(body.length) } : {};
      const request = (secure ? https : http).request(target, {
        agent: secure ? agents.secure : agents.plain,
        method,
        // No compression, as decompressed bodies could exceed all limits.
        headers: { ...headers, ...length, 'accept-encoding': 'identity' },
      });
      let response: IncomingMessage | undefined;
      let connecting: Disposable | undefined;
      const abort = () => (response ?? request).destroy(new Error('it was given up'));
      request.on('socket', socket => {
        if (!socket.connecting) return;
        connecting = clock.after(options.connectTimeoutMs, () =>
          request.destroy(new Error(`no connection within ${options.connectTimeoutMs / 1000} s`)),
        );
        const connected = () => connecting?.[Symbol.dispose]();
        socket.once(secure ? 'secureConnect' : 'connect', connected);
      });
      request.on('finish', () => sent?.());
      // Node ends such a request with neither a response nor an error if nobody listens.
      request.on('upgrade', ({ statusCode: status }, socket) => {
        socket.destroy();
        reject(
          new HubError(
            'HUB_REMOTE_UNREACHABLE',
            `${options.server} at ${withoutSecrets(target)} answered ${status}, which is not MCP. Check that "url" is the MCP endpoint itself`,
            { data: { server: options.server, status, retryable: false } },
          ),
        );
      });
      request.on('response', answer => {
        response = answer;
        // A reader of the body gets the error as well; without a reader, the error must not crash the process.
        answer.on('error', () => {});
        resolve(answer);
      });
      request.on('error', cause => {
        reject(
          new HubError(
            'HUB_REMOTE_UNREACHABLE',
            `${options.server} cannot be reached at ${withoutSecrets(target)}: ${messageOf(cause)}. Check that it runs and that "url" is right`,
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
