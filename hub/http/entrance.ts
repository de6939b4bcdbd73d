import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, http, https } from '#core';
import type { Principal } from '#policy';
import type { View } from '#routing';
import type { Servers } from '#servers';
import type { ByteBudget, Connections, Streamable, WebSockets } from '#transports';
import { type GuardedRequest, guardedRequest } from './guarded-request.ts';
import type { Peers } from './peers.ts';
import { createPipeline } from './pipeline.ts';
import { createPlainPosts } from './plain-posts.ts';
import { countBody, refuseBusy } from './unfinished.ts';
import { isAnswerDue, refuseUnreadable } from './unreadable.ts';

export type EntranceOptions = {
  readonly tls: { readonly cert: Buffer; readonly key: Buffer } | undefined;
  readonly maxBodyBytes: number;
  readonly patience?: Patience;
  /** More connections than this are answered with 503. */
  readonly maxConnections: number;
};

/** How long the head of a request may take to arrive, and how long all of it, in milliseconds. */
export type Patience = { readonly headMs: number; readonly requestMs: number };

export type EntranceNeeds = {
  readonly servers: Pick<Servers, 'find'>;
  readonly streamable: Pick<Streamable, 'handle'>;
  readonly webSockets: WebSockets;
  readonly connections: Pick<Connections, 'isDraining'>;
  /** The principal of a request to an MCP endpoint; undefined where the guard refuses it. `otherwise` answers those. */
  readonly admit: (request: GuardedRequest) => Principal | undefined;
  readonly peers: Peers;
  /** The bytes of bodies that are not complete, and of answers that clients have not read. */
  readonly unfinished: ByteBudget;
  readonly unread: ByteBudget;
  readonly clock: Pick<Clock, 'now'>;
  /** Answers whatever does not go the short way. */
  readonly otherwise: RequestListener;
};

type Upgrade = { readonly view: View; readonly principal: Principal };

const keepAliveMs = 75_000;
/** Enough for the largest body over a slow network. What a call takes after that is not counted. */
const defaultPatience: Patience = { headMs: 60_000, requestMs: 300_000 };

/**
 * The listening end of the hub. A plain POST to an MCP endpoint, which is nearly all there is, goes to
 * the transport from here, and where nothing else came before it, without Node's HTTP (decisions/0015): on
 * the way of a call routes and hooks cost as much as the relaying does (tests/bench). Anything unusual takes
 * the way of the routes, which knows all the refusals.
 */
export function createEntrance(options: EntranceOptions, needs: EntranceNeeds): Server {
  const pipeline = createPipeline();
  const admit = (request: IncomingMessage) =>
    needs.admit(guardedRequest(request, needs.peers.of(request.socket)));
  const listener: RequestListener = (request, response) => {
    countBody(request, response, needs.unfinished);
    pipeline(request, response, () => answer(request, response));
  };
  const answer: RequestListener = (request, response) => {
    const length = plainLength(request);
    const view =
      length > 0 && length <= options.maxBodyBytes
        ? viewOf(request.url ?? '', needs.servers)
        : undefined;
    const principal = view === undefined ? undefined : admit(request);
    if (view === undefined || !principal) needs.otherwise(request, response);
    else
      readBody(request, length, body =>
        needs.streamable.handle(request, response, body, view, principal),
      );
  };
  /**
   * The view that an upgrade to WebSocket asks for, and its principal. Undefined, which makes it a request like any
   * other, where the guard refuses it, where it offers another protocol (HTTP/2, mostly), while the hub stops, and
   * where it does not wait for the answer to the request before it.
   */
  function upgradeOf(request: IncomingMessage): Upgrade | undefined {
    if (!isWebSocket(request) || needs.connections.isDraining || isAnswerDue(request.socket))
      return undefined;
    const principal = admit(request);
    const view = principal && viewOf((request.url ?? '').split('?')[0] ?? '', needs.servers);
    return principal && view !== undefined ? { principal, view } : undefined;
  }
  const { patience = defaultPatience } = options;
  const how = {
    // Node asks before it emits `upgrade`. The decision that counts is made then.
    shouldUpgradeCallback: (request: IncomingMessage) => upgradeOf(request) !== undefined,
    // The guard refuses a request without Host, and says so in the hub's words.
    requireHostHeader: false,
    headersTimeout: patience.headMs,
    requestTimeout: patience.requestMs,
    // The requests that take too long are looked for this often, in milliseconds.
    connectionsCheckingInterval: Math.min(30_000, patience.headMs),
    keepAliveTimeout: keepAliveMs,
  };
  const server = options.tls
    ? https.createServer({ ...options.tls, ...how }, listener)
    : http.createServer(how, listener);
  server.on('clientError', refuseUnreadable);
  server.on('upgrade', (request, socket, head) => {
    const upgrade = upgradeOf(request);
    if (upgrade) needs.webSockets.accept(request, socket, head, upgrade.view, upgrade.principal);
    else socket.destroy();
  });
  // Node reads all connections by TLS.
  if (options.tls) identifyFirst(server, needs.peers);
  else answerPlainPosts(server, patience, { ...options, ...needs });
  boundConnections(server, options.maxConnections, needs.unread);
  return server;
}

/** Refuses connections above the bound, and counts what the clients of the others leave unread. */
function boundConnections(server: Server, maxConnections: number, unread: ByteBudget): void {
  const accepts = server.listeners('connection');
  let open = 0;
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (open >= maxConnections) {
      socket.on('error', () => socket.destroy());
      // Nothing that it sends is read, which would otherwise end the answer before it has arrived.
      refuseBusy(
        socket,
        `${open} connections are open, as many as MAX_CONNECTIONS allows. Close some, or try again later`,
      );
      return;
    }
    open++;
    const held = unread.hold({
      bytes: () => socket.writableLength,
      // Behind so much that it does not read, a client would not read the reason either.
      drop: () => socket.destroy(),
    });
    socket.once('close', () => {
      open--;
      held[Symbol.dispose]();
    });
    for (const accept of accepts) Reflect.apply(accept, server, [socket]);
  });
}

/** Has the connections of a server answered without Node's HTTP, for as long as they bring plain POSTs. */
function answerPlainPosts(
  server: Server,
  { headMs }: Patience,
  needs: EntranceNeeds & Pick<EntranceOptions, 'maxBodyBytes'>,
): void {
  const accepts = server.listeners('connection');
  const plain = createPlainPosts(
    { maxBodyBytes: needs.maxBodyBytes, firstMs: headMs, idleMs: keepAliveMs },
    {
      ...needs,
      viewOf: url => viewOf(url, needs.servers),
      // Node takes connections that others have accepted, by this event.
      handOver(socket, bytes) {
        for (const accept of accepts) Reflect.apply(accept, server, [socket]);
        socket.unshift(bytes);
      },
      timedOut: socket => void server.emit('clientError', requestTimeout(), socket),
    },
  );
  server.removeAllListeners('connection');
  const { peers } = needs;
  server.on('connection', (socket: Socket) =>
    peers.identify(socket, () => plain.take(socket, peers.of(socket))),
  );
  // Node knows no other connections than those it reads.
  const closeItsOwn = server.closeAllConnections.bind(server);
  server.closeAllConnections = () => {
    peers.endAll();
    plain.endAll();
    closeItsOwn();
  };
}

/** Finds out whose process opened a connection before Node reads requests from it. */
function identifyFirst(server: Server, peers: Peers): void {
  const accepts = server.listeners('secureConnection');
  server.removeAllListeners('secureConnection');
  server.on('secureConnection', (socket: Socket) =>
    peers.identify(socket, () => {
      for (const accept of accepts) Reflect.apply(accept, server, [socket]);
    }),
  );
}

/** The error by which Node tells the same of the connections that it reads. */
const requestTimeout = () =>
  Object.assign(new Error('the request did not arrive in time'), {
    code: 'ERR_HTTP_REQUEST_TIMEOUT',
  });

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
