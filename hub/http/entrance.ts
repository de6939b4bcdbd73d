import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { http, https } from '#core';
import type { View } from '#routing';
import type { Servers } from '#servers';
import type { Streamable, WebSockets } from '#transports';

export type EntranceOptions = {
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly maxBodyBytes: number;
};

export type EntranceNeeds = {
  readonly servers: Pick<Servers, 'find'>;
  readonly streamable: Pick<Streamable, 'handle'>;
  readonly webSockets: WebSockets;
  /** Whether the hub lets a request in. Who is not let in is refused by `otherwise`. */
  readonly letsIn: (request: IncomingMessage) => boolean;
  /** Answers whatever does not go the short way. */
  readonly otherwise: RequestListener;
};

const keepAliveMs = 75_000;

/**
 * The listening end of the hub. A plain POST to an MCP endpoint, which is nearly all there is, goes to
 * the transport from here: on the way of a call routes and hooks cost as much as the relaying does
 * (tests/bench). Anything unusual takes the way of the routes, which knows all the refusals.
 */
export function createEntrance(options: EntranceOptions, needs: EntranceNeeds): Server {
  const listener: RequestListener = (request, response) => {
    const length = plainLength(request);
    const view =
      length > 0 && length <= options.maxBodyBytes
        ? viewOf(request.url ?? '', needs.servers)
        : undefined;
    if (view === undefined || !needs.letsIn(request)) needs.otherwise(request, response);
    else readBody(request, length, body => needs.streamable.handle(request, response, body, view));
  };
  /**
   * What a WebSocket is asked for. Whoever is not let in, or offers another protocol, as clients do that
   * would rather speak HTTP/2, sent a request like any other.
   */
  const upgradeOf = (request: IncomingMessage): View | undefined =>
    isWebSocket(request) && needs.letsIn(request)
      ? viewOf((request.url ?? '').split('?')[0] ?? '', needs.servers)
      : undefined;
  const upgrading = {
    shouldUpgradeCallback: (request: IncomingMessage) => upgradeOf(request) !== undefined,
  };
  const server = options.tls
    ? https.createServer({ ...options.tls, ...upgrading }, listener)
    : http.createServer(upgrading, listener);
  server.on('upgrade', (request, socket, head) => {
    const view = upgradeOf(request);
    if (view === undefined) socket.destroy();
    else needs.webSockets.accept(request, socket, head, view);
  });
  server.keepAliveTimeout = keepAliveMs;
  // A client may take its time over a long call, but not over the head of a request.
  server.requestTimeout = 0;
  return server;
}

/**
 * How long the body of a POST of JSON is; NaN where it is something else, its length is not told, or it
 * comes from a browser, whose answer needs headers of its own.
 */
function plainLength({ method, headers }: IncomingMessage): number {
  const isPlain =
    method === 'POST' &&
    headers['content-type'] === 'application/json' &&
    headers.origin === undefined;
  return isPlain ? Number(headers['content-length']) : NaN;
}

const isWebSocket = ({ method, headers }: IncomingMessage) =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/** What an MCP endpoint shows; undefined for every other path, and for a server that is unknown. */
function viewOf(url: string, servers: Pick<Servers, 'find'>): View | undefined {
  if (url === '/mcp') return 'all';
  return url.startsWith('/mcp/') ? servers.find(url.slice('/mcp/'.length)) : undefined;
}

/** A client that leaves before the end of its body is not answered: nothing has begun for it. */
function readBody(request: IncomingMessage, length: number, done: (body: Buffer) => void): void {
  let parts: Buffer[] | undefined;
  let missing = length;
  // The last byte tells the end as well as the event for it does, which comes a turn later.
  request.on('data', (chunk: Buffer) => {
    missing -= chunk.length;
    if (missing === 0) done(parts ? Buffer.concat([...parts, chunk], length) : chunk);
    else (parts ??= []).push(chunk);
  });
}
