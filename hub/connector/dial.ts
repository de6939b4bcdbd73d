import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type BatchSink, type Clock, HubError, isObject, messageOf, tryParseJson } from '#core';
import type { OwnCertificate } from './own-certificate.ts';

/** The address of a running hub, as its clients specify it. */
type DialAddress = {
  /** URL of the hub, such as `http://localhost:9090`. It may contain the path of a proxy before the hub's own path. */
  readonly url: string;
  /** One server of the hub, or a profile after "@"; undefined for all servers. */
  readonly server: string | undefined;
  readonly token: string | undefined;
  /** The certificate of this client. Absent: it presents none. */
  readonly certificate?: OwnCertificate | undefined;
};

export type LinkHandlers = {
  /** Receives one message or a batch of messages. The receiver owns the buffer. */
  message(bytes: Buffer): void;
  /** Called once when the link ends, for any reason. Never called before `dialHub` has resolved. */
  closed(reason: string): void;
};

export type Link = BatchSink & {
  /** Closes the link. `closed` is not called then. */
  close(): void;
};

/** Maximum size of a message in bytes: twice the highest `max_line` that a server may have. */
const maxPayload = 1024 * 1024 * 1024;
const handshakeTimeout = 10_000;
/** Time in ms without a ping after which the connection counts as lost. The hub sends a ping every 15 seconds. */
const silentMs = 60_000;
const maxProblemBytes = 16 * 1024;
const asText = { binary: false } as const;

/** Connects to a hub by WebSocket. Rejects with HUB_CONNECT_FAILED if no hub answers or the hub refuses the client. */
export async function dialHub(
  address: DialAddress,
  on: LinkHandlers,
  clock: Pick<Clock, 'after'>,
): Promise<Link> {
  const { WebSocket: Socket } = await import('ws');
  const ws = new Socket(endpointOf(address), ['mcp'], {
    ...address.certificate,
    headers: address.token === undefined ? {} : { authorization: `Bearer ${address.token}` },
    perMessageDeflate: false,
    maxPayload,
    handshakeTimeout,
  });
  let socket: Duplex | undefined;
  ws.once('upgrade', response => (socket = response.socket));
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let failure: unknown;
  ws.on('unexpected-response', (_request, response) => {
    void problemOf(response).then(message => {
      failure = refused(address, response.statusCode ?? 0, message);
      ws.terminate();
    });
  });
  ws.on('error', error => (failure ??= unreachable(address, error)));
  ws.once('open', resolve);
  ws.once('close', () => reject(failure));
  await promise;

  let isClosed = false;
  let silence: Disposable | undefined;
  /** Restarts the silence timer. Called for each ping of the hub. */
  function heard(): void {
    silence?.[Symbol.dispose]();
    silence = clock.after(silentMs, () => ws.terminate());
  }
  function end(): boolean {
    silence?.[Symbol.dispose]();
    const wasOpen = !isClosed;
    isClosed = true;
    return wasOpen;
  }
  heard();
  ws.on('ping', heard);
  ws.on('message', data => {
    if (!isClosed && Buffer.isBuffer(data)) on.message(data);
  });
  ws.on('close', (_code, reason) => {
    if (end()) on.closed(reason.toString() || 'the connection broke');
  });
  return {
    write(messages) {
      socket?.cork();
      for (const message of messages) ws.send(message, asText);
      socket?.uncork();
    },
    unsentBytes: () => ws.bufferedAmount,
    close() {
      if (end()) ws.close();
    },
  };
}

/** Returns the WebSocket address of the endpoint. Throws HUB_USAGE if `url` is not an HTTP address. */
function endpointOf({ url, server }: DialAddress): string {
  const name = server === undefined ? '' : encodeURIComponent(server).replace(/^%40/, '@');
  const path = server === undefined ? '/mcp' : `/mcp/${name}`;
  return `${baseOf(url).replace(/^http/, 'ws')}${path}`;
}

/** Returns the base URL of a hub, without a slash at the end. Throws HUB_USAGE if it is not an HTTP address. */
export function baseOf(text: string): string {
  const url = URL.parse(text);
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new HubError(
      'HUB_USAGE',
      `--url: ${JSON.stringify(text)} is not allowed: write the hub's address, such as http://localhost:9090`,
    );
  return `${url.origin}${url.pathname.replace(/\/+$/, '').replace(/\/mcp$/, '')}`;
}

/** Returns the error for a hub that does not answer, or answers unexpectedly. The message says how to fix the cause. */
export function unreachable({ url }: Pick<DialAddress, 'url'>, error: unknown): HubError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  // Messages of OpenSSL end in a line break.
  return failed(explain(url, code, messageOf(error).trim()), error);
}

function explain(url: string, code: string, why: string): string {
  const isSecure = /^(?:https|wss):/i.test(url);
  if (isSecure && unknownIssuer.test(code))
    return `the certificate of the hub at ${url} is not trusted here (${why}). Set NODE_EXTRA_CA_CERTS to the file of that certificate, or of the authority that signed it, where this command is started`;
  if (isSecure && wrongCertificate.test(code))
    return `the certificate of the hub at ${url} is not valid for that address now (${why}). Name the hub with --url as its certificate does, or renew the certificate`;
  if (isSecure && notTls.test(code))
    return `the program at ${url} speaks no TLS (${why}). If the hub has no certificate, write http:// in --url`;
  if (!isSecure && code === 'ECONNRESET')
    return `the program at ${url} ended the connection (${why}). If the hub has a certificate, write https:// in --url`;
  return `no hub answers at ${url} (${why}). Start one with "agenthub serve", or name another with --url`;
}

/** Error codes of a TLS handshake with a peer that does not speak TLS. */
const notTls = /^(?:EPROTO$|ERR_SSL_)/;
/** Node's codes for a certificate without a trusted issuer (OpenSSL, x509_vfy). */
const unknownIssuer =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_GET_ISSUER_CERT|UNABLE_TO_GET_ISSUER_CERT_LOCALLY|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/;
const wrongCertificate = /^(?:CERT_HAS_EXPIRED|CERT_NOT_YET_VALID|ERR_TLS_CERT_ALTNAME_INVALID)$/;

/**
 * Returns the error for an answer with this HTTP status. `message` is the hub's error message; undefined if the peer
 * is not a hub.
 */
export function refused(
  { url, server }: Pick<DialAddress, 'url' | 'server'>,
  status: number,
  message: string | undefined,
): HubError {
  if (status === 401)
    return failed(
      `the hub at ${url} wants its token: set ROUTER_TOKEN to the one it was started with, or to the token of a client (agenthub token create NAME)`,
    );
  if (status === 404 && server !== undefined && message !== undefined) {
    const named = server.startsWith('@')
      ? `--profile ${JSON.stringify(server.slice(1))}`
      : `--server ${JSON.stringify(server)}`;
    return failed(`the hub at ${url} does not know ${named}: ${message}`);
  }
  return failed(
    message === undefined
      ? `the program at ${url} is not AgentHub (HTTP status ${status}). Name the hub with --url`
      : `the hub at ${url} refuses the connection: ${message}`,
  );
}

const failed = (message: string, cause?: unknown) =>
  new HubError('HUB_CONNECT_FAILED', message, { cause, data: { retryable: true } });

/** Returns the hub's error message from the body of a refusal; undefined if the body has a different format. */
async function problemOf(response: IncomingMessage): Promise<string | undefined> {
  let text = '';
  try {
    for await (const chunk of response) {
      text += String(chunk);
      if (text.length > maxProblemBytes) return undefined;
    }
  } catch {
    // Report only the status if the body cannot be read.
    return undefined;
  }
  const body = tryParseJson(text);
  const error = isObject(body) ? body['error'] : undefined;
  return isObject(error) && typeof error['message'] === 'string' ? error['message'] : undefined;
}
