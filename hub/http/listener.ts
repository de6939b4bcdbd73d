import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { http, https } from '#core';
import type { ByteBudget, ClientConnections, WebSockets } from '#transports';
import type { PresentedCertificate } from './client-certificates.ts';
import { guardedRequest } from './guard.ts';
import type { Peers } from './peers.ts';
import { withoutLastSlash } from './mcp-paths.ts';
import { createPipeline } from './pipeline.ts';
import { type PlainPostsNeeds, createPlainPosts } from './plain-posts.ts';
import {
  countBody,
  isAnswerDue,
  refuseBusy,
  refuseConnection,
  refuseUnreadable,
} from './unreadable.ts';

export type ListenerOptions = {
  /** Maximum size of a body in bytes. Larger bodies are refused with 413. */
  readonly maxBodyBytes: number;
  /** Maximum time for a request to arrive; by default a minute for its head and five for all of it. */
  readonly patience?: Patience;
  /** Maximum number of connections; 2,000 by default. Further connections are refused with 503. */
  readonly maxConnections?: number;
};

type Tls = {
  readonly cert: Buffer;
  readonly key: Buffer;
  /** Absent: the hub requests no certificates from clients. */
  readonly clients?: ClientCertificates;
};

/** Verification of the certificates of clients. */
export type ClientCertificates = {
  /** Certificate authorities in PEM form. */
  readonly authorities: readonly string[];
  readonly of: (connection: TLSSocket) => PresentedCertificate;
  /** Called for each connection that is refused because of its certificate, or because it has none. */
  readonly refused: (connection: TLSSocket, why: string) => void;
};

/** Maximum time for the head and for the whole of a request to arrive, in milliseconds. */
type Patience = { readonly headMs: number; readonly requestMs: number };

export type ListenerNeeds = Pick<
  PlainPostsNeeds,
  'clock' | 'streamable' | 'paths' | 'admission'
> & {
  readonly webSockets: WebSockets;
  readonly connections: Pick<ClientConnections, 'isDraining'>;
  readonly peers: Peers;
  /** Budget for the bytes of incomplete bodies and of unread answers. */
  readonly unfinished: ByteBudget;
  readonly unread: ByteBudget;
  /** Answers all requests other than plain POSTs, and those that the guard refuses. */
  readonly fallback: RequestListener;
};

const keepAliveMs = 75_000;
export const defaultMaxConnections = 2_000;
/** Enough time for the largest body over a slow network. The duration of the call itself does not count. */
const defaultPatience: Patience = { headMs: 60_000, requestMs: 300_000 };

/**
 * Creates the HTTP server. Plain POSTs to an MCP endpoint, nearly all requests, go straight to the transport; on a
 * connection with only such requests, they bypass Node's HTTP too (decisions/0015). Routes and hooks would cost as
 * much as relaying a call (tests/bench). The routes answer all other requests and all refusals.
 */
export function createListener(
  options: ListenerOptions & { readonly tls: Tls | undefined },
  needs: ListenerNeeds,
): Server {
  const pipeline = createPipeline();
  const { paths } = needs;
  const admit = (request: IncomingMessage) => {
    const { socket } = request;
    const principal = needs.admission.admit(guardedRequest(request, needs.peers.of(socket)));
    return principal && needs.admission.mayHold(socket, principal) ? principal : undefined;
  };
  const listener: RequestListener = (request, response) => {
    countBody(request, response, needs.unfinished);
    pipeline(request, response, () => answer(request, response));
  };
  const answer: RequestListener = (request, response) => {
    const length = plainLength(request);
    const isTaken = length > 0 && length <= options.maxBodyBytes;
    const endpoint = isTaken ? paths.endpointOf(request.url ?? '') : undefined;
    const principal = endpoint === undefined ? undefined : admit(request);
    if (endpoint === undefined || !principal) needs.fallback(request, response);
    else
      readBody(request, length, body => {
        // A token can be revoked while the body arrives, which may take minutes.
        const now = admit(request);
        if (now) {
          const viewer = paths.viewer(now, request.url ?? '');
          needs.streamable.handle(request, response, body, endpoint, viewer);
        } else needs.fallback(request, response);
      });
  };
  /**
   * Returns the endpoint of an upgrade to WebSocket. Undefined if the guard refuses it, if it offers another protocol
   * (mostly HTTP/2), while the hub stops, and before an earlier request is answered. The request is then handled like
   * any other.
   */
  function upgradeOf(request: IncomingMessage) {
    if (!isWebSocket(request) || needs.connections.isDraining || isAnswerDue(request.socket))
      return undefined;
    const principal = admit(request);
    const [path = ''] = withoutLastSlash(request.url ?? '').split('?');
    const endpoint = principal && paths.endpointOf(path);
    return principal && endpoint !== undefined ? { path, endpoint } : undefined;
  }
  const { patience = defaultPatience, maxConnections = defaultMaxConnections } = options;
  const serverOptions = {
    // Node calls this before it emits `upgrade`, where the decision is made again.
    shouldUpgradeCallback: (request: IncomingMessage) => upgradeOf(request) !== undefined,
    // The guard refuses a request without Host.
    requireHostHeader: false,
    headersTimeout: patience.headMs,
    requestTimeout: patience.requestMs,
    // Interval of the check for late requests, in milliseconds.
    connectionsCheckingInterval: Math.min(30_000, patience.headMs),
    keepAliveTimeout: keepAliveMs,
  };
  const server = options.tls
    ? https.createServer({ ...tlsOptions(options.tls), ...serverOptions }, listener)
    : http.createServer(serverOptions, listener);
  server.on('clientError', refuseUnreadable);
  server.on('upgrade', (request, socket, head) => {
    const upgrade = upgradeOf(request);
    if (upgrade)
      needs.webSockets.accept(request, socket, head, upgrade.endpoint, () => {
        const principal = admit(request);
        return principal && paths.viewer(principal, upgrade.path);
      });
    else socket.destroy();
  });
  // TLS connections are all read by Node's HTTP.
  if (options.tls) admitSecureConnections(server, patience, options.tls, needs.peers);
  else answerPlainPosts(server, patience, { ...options, ...needs });
  boundConnections(server, maxConnections, needs.unread);
  return server;
}

const tlsOptions = ({ cert, key, clients }: Tls) => ({
  cert,
  key,
  // TLS itself must not reject a certificate, because the client would not get the reason (`admitSecureConnections`).
  ...(clients && { ca: [...clients.authorities], requestCert: true, rejectUnauthorized: false }),
});

/** Refuses connections by their certificates, and identifies the peers of all other connections. */
function admitSecureConnections(
  server: Server,
  { headMs }: Patience,
  { clients }: Tls,
  peers: Peers,
): void {
  const accept = takeListeners(server, 'secureConnection');
  const waiting = createWaitingConnections(server);
  server.on('secureConnection', (socket: TLSSocket) => {
    const presented = clients?.of(socket);
    const why = presented?.refusal;
    if (why !== undefined) {
      clients?.refused(socket, why);
      return refuseConnection(socket, why, headMs);
    }
    const read = () => {
      waiting.delete(endOf(socket));
      accept(socket);
    };
    peers.identify(socket, read, presented?.name);
  });
}

/**
 * Tracks TLS connections that Node's HTTP server does not have: those in their handshake, and refused ones. Makes
 * `closeAllConnections` close them too. Otherwise a stop would wait one or two minutes for them.
 */
function createWaitingConnections(server: Server): Map<string, Socket> {
  const waiting = new Map<string, Socket>();
  server.on('connection', (socket: Socket) => {
    const end = endOf(socket);
    waiting.set(end, socket);
    socket.once('close', () => {
      // A newer connection may have the same address and port.
      if (waiting.get(end) === socket) waiting.delete(end);
    });
  });
  const closeItsOwn = server.closeAllConnections.bind(server);
  server.closeAllConnections = () => {
    for (const socket of waiting.values()) socket.destroy();
    closeItsOwn();
  };
  return waiting;
}

/** Returns the client's address and port: Node has no other link between a TCP and its TLS connection. */
const endOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress} ${remotePort}`;

/** Removes the listeners that accept connections, and returns a function that calls them. */
function takeListeners(server: Server, event: 'connection' | 'secureConnection') {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  return (socket: Socket): void => {
    for (const listener of listeners) Reflect.apply(listener, server, [socket]);
  };
}

/** Refuses connections above the maximum, and counts the unread bytes of the others. */
function boundConnections(server: Server, maxConnections: number, unread: ByteBudget): void {
  const accept = takeListeners(server, 'connection');
  let open = 0;
  server.on('connection', (socket: Socket) => {
    if (open >= maxConnections) {
      socket.on('error', () => socket.destroy());
      // The request is not read: closing then would reset the connection before the answer arrives.
      const why = `${open} connections are open, as many as MAX_CONNECTIONS allows`;
      return refuseBusy(socket, `${why}. Close some, or try again later`);
    }
    open++;
    const held = unread.hold({
      bytes: () => socket.writableLength,
      // A client that does not read would not read the reason either.
      drop: () => socket.destroy(),
    });
    socket.once('close', () => {
      open--;
      held[Symbol.dispose]();
    });
    accept(socket);
  });
}

function answerPlainPosts(
  server: Server,
  { headMs }: Patience,
  needs: ListenerNeeds & Pick<ListenerOptions, 'maxBodyBytes'>,
): void {
  const { peers } = needs;
  const accept = takeListeners(server, 'connection');
  const plain = createPlainPosts(
    { maxBodyBytes: needs.maxBodyBytes, firstMs: headMs, idleMs: keepAliveMs },
    {
      ...needs,
      // Passes the connection to the listeners of Node's HTTP server.
      handOver(socket, bytes) {
        accept(socket);
        socket.unshift(bytes);
      },
      timedOut: socket => void server.emit('clientError', requestTimeout(), socket),
    },
  );
  server.on('connection', (socket: Socket) =>
    peers.identify(socket, () => plain.take(socket, peers.of(socket))),
  );
  // Node closes only the connections that its HTTP server reads.
  const closeItsOwn = server.closeAllConnections.bind(server);
  server.closeAllConnections = () => {
    peers.endAll();
    plain.endAll();
    closeItsOwn();
  };
}

const requestTimeout = () =>
  Object.assign(new Error('the request did not arrive in time'), {
    code: 'ERR_HTTP_REQUEST_TIMEOUT',
  });

/** Returns the length of the body of a plain POST; NaN for other requests, and for browsers, which need CORS. */
function plainLength({ method, headers }: IncomingMessage): number {
  const isPlain =
    method === 'POST' &&
    headers['content-type'] === 'application/json' &&
    headers.origin === undefined;
  return isPlain ? Number(headers['content-length']) : NaN;
}

const isWebSocket = ({ method, headers }: IncomingMessage) =>
  method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket';

/** Reads a body. `done` is not called if the client disconnects before the end of the body. */
function readBody(request: IncomingMessage, length: number, done: (body: Buffer) => void): void {
  let parts: Buffer[] | undefined;
  let missing = length;
  // Does not wait for the `end` event, which comes a turn later.
  request.on('data', (chunk: Buffer) => {
    missing -= chunk.length;
    if (missing > 0) return void (parts ??= []).push(chunk);
    const body = parts ? Buffer.concat([...parts, chunk], length) : chunk;
    // The listener exists until the answer is sent, and would keep these parts in memory.
    parts = undefined;
    done(body);
  });
}
