// The proxy of servers: HTTP CONNECT, plain HTTP requests, and raw TCP to targets that an allow list names exactly.
import { createServer as createHttp, request as requestHttp } from 'node:http';
import { createServer as createTcp } from 'node:net';
import { Refused } from './outside.mjs';
import { createRelay, idleMs } from './relay.mjs';
import { nameInside } from './rules.mjs';

/** Timeout in ms for the headers of a request, and for the first bytes of a TCP connection, which name the target. */
const headMs = 20_000;
/**
 * Maximum number of connections of all servers, divided evenly among them; the next two lines bound a single server.
 */
const maxConnections = 2048;
const maxPerServer = 128;
const minPerServer = 8;
/** Maximum lifetime of a connection in ms. */
const totalMs = 24 * 60 * 60_000;
/** Maximum number of pipelined requests that wait for their response on one connection. */
const maxPipelined = 16;
/**
 * Time in ms for which a server gets no connection after too many pipelined requests, all of which Node parses at once.
 */
const pausedMs = 10_000;
const maxHelloBytes = 16 * 1024;
/** Buffer limit of a socket in bytes. It is small, because thousands of connections may each buffer this much. */
const highWaterMark = 16 * 1024;
const noBytes = Buffer.alloc(0);
const hops = new Set(['connection', 'keep-alive', 'expect', 'host', 'te', 'trailer', 'upgrade']);

export function createProxy({ findServer, countServers, outside, reports }) {
  /** Open connections, by the name of their server. */
  const connections = new Map();
  /** Time of `performance.now` until which a server gets no connection, by the name of the server. */
  const pausedUntil = new Map();
  /** Number of requests that wait for their response, by connection. */
  const unanswered = new WeakMap();
  const relay = createRelay(name => connections.has(name));

  /** Counts a connection of a server until it closes. Returns false if the server has too many. */
  function take(socket, server) {
    const most = Math.max(
      minPerServer,
      Math.min(maxPerServer, Math.floor(maxConnections / countServers())),
    );
    const open = connections.get(server.name) ?? new Set();
    if (open.size >= most) {
      reports.blocked(server.name, 'more connections', `has ${most} connections open, the maximum`);
      return false;
    }
    connections.set(server.name, open.add(socket));
    const timer = setTimeout(() => socket.destroy(), totalMs);
    timer.unref();
    socket.once('close', () => {
      clearTimeout(timer);
      open.delete(socket);
      if (open.size > 0) return;
      connections.delete(server.name);
      relay.forget(server.name);
    });
    return true;
  }

  function isPaused({ name }) {
    if ((pausedUntil.get(name) ?? 0) > performance.now()) return true;
    pausedUntil.delete(name);
    return false;
  }

  /** Counts a request until it is answered. Returns false, and closes connections, if too many wait for a response. */
  function countRequest({ socket }, response) {
    if (socket.destroyed) return false;
    const count = (unanswered.get(socket) ?? 0) + 1;
    unanswered.set(socket, count);
    response.once('close', () => unanswered.set(socket, unanswered.get(socket) - 1));
    if (count <= maxPipelined) return true;
    const server = findServer(socket.remoteAddress, socket.localAddress);
    socket.destroy();
    if (server) {
      pausedUntil.set(server.name, performance.now() + pausedMs);
      for (const other of connections.get(server.name) ?? []) other.destroy();
      reports.blocked(
        server.name,
        'more requests',
        `sent more than ${maxPipelined} requests without waiting for answers`,
      );
    }
    return false;
  }

  /**
   * Returns the server of an accepted connection. Closes the connection and returns undefined if no server has it, or
   * if the server is paused or has too many.
   */
  function admit(socket) {
    socket.on('error', () => {});
    const server = findServer(socket.remoteAddress, socket.localAddress);
    if (server && !isPaused(server) && take(socket, server)) return server;
    socket.destroy();
    return undefined;
  }

  /**
   * Connects a client to its target and relays bytes. `head`: bytes of the client that are sent to the target first.
   */
  async function connect(server, client, { host, port, head, opened }) {
    await relay.takeTurn(server);
    const receiver = relay.createReceiver();
    const target = await outside.open(server, host, port, receiver.onread);
    if (client.destroyed) return void target.destroy();
    opened?.();
    if (head.length > 0) target.write(head);
    relay.join(server, client, { target, receiver });
  }

  const http = createHttp({
    highWaterMark,
    headersTimeout: headMs,
    requestTimeout: 0,
    keepAliveTimeout: 60_000,
  });
  http.on('connection', socket => void admit(socket));
  // Looks up the server for each request again, because its list may have changed.
  const tunnel = async (request, client, head) => {
    try {
      const server = serverOf(client);
      const { host, port } = authorityOf(request.url);
      const opened = () => client.write('HTTP/1.1 200 Connection established\r\n\r\n');
      await connect(server, client, { host, port, head, opened });
    } catch (error) {
      client.on('error', () => {});
      const { status, message } = told(error);
      client.end(`HTTP/1.1 ${status} Refused\r\n${headersOf(message)}\r\n${message}\n`, () =>
        client.destroy(),
      );
    }
  };
  const answer = async (request, response) => {
    try {
      await forward(serverOf(request.socket), request, response);
    } catch (error) {
      const { status, message } = told(error);
      if (response.headersSent) return void response.destroy();
      response.writeHead(status, { 'Content-Type': 'text/plain', Connection: 'close' });
      response.end(`${message}\n`);
    }
  };
  http.on('connect', (request, client, head) => void tunnel(request, client, head));
  http.on('request', (request, response) => {
    if (countRequest(request, response)) void answer(request, response);
  });

  const serverOf = ({ remoteAddress, localAddress }) => {
    const server = findServer(remoteAddress, localAddress);
    if (server) return server;
    throw new Refused(403, 'the server no longer has a list');
  };

  async function forward(server, request, response) {
    const url = URL.parse(request.url);
    if (url?.protocol !== 'http:')
      throw new Refused(400, 'this is a proxy: send CONNECT, or a request with an http:// URL');
    await relay.takeTurn(server);
    const target = await outside.open(server, url.hostname, Number(url.port || 80));
    if (response.destroyed || !take(target, server)) {
      target.destroy();
      throw new Refused(503, 'too many connections');
    }
    target.setTimeout(idleMs, () => target.destroy());
    const { promise, resolve, reject } = Promise.withResolvers();
    const path = request.url.replace(/^[a-z]+:\/\/[^/?#]*/i, '');
    const sent = requestHttp({
      createConnection: () => target,
      method: request.method,
      path: path.startsWith('/') ? path : `/${path}`,
      setHost: false,
      headers: ['Host', url.host, ...passed(request), 'Connection', 'close'],
    });
    sent.on('error', error => reject(new Refused(502, `${url.host}: ${error.message}`)));
    sent.on('upgrade', () => reject(new Refused(502, `${url.host} changes the protocol`)));
    sent.on('response', answer => {
      try {
        // Omits the status text of the target, which may contain anything.
        response.writeHead(answer.statusCode, passed(answer));
      } catch (error) {
        return void reject(new Refused(502, `${url.host} answers invalidly: ${error.message}`));
      }
      answer.on('error', () => response.destroy());
      relay.pass(server, answer, response);
    });
    response.on('close', () => {
      target.destroy();
      resolve();
    });
    relay.pass(server, request, sent);
    await promise;
  }

  /** Creates the TCP server for targets on a port. Servers connect to it under the names of the targets. */
  const createTargetServer = port =>
    createTcp(
      { allowHalfOpen: true, noDelay: true, highWaterMark },
      client => void toTarget(client, port),
    );

  async function toTarget(client, port) {
    const server = admit(client);
    if (!server) return;
    try {
      const { name, head } = await targetOf(server, client, port);
      await connect(server, client, { host: name, port, head });
    } catch (error) {
      told(error);
      client.destroy();
    }
  }

  async function targetOf(server, client, port) {
    const exact = server.allow.filter(one => one.internal && one.ports.includes(port));
    if (exact.length === 1) return { name: exact[0].name, head: noBytes };
    try {
      if (exact.length > 1) return await readName(client);
    } catch (error) {
      reports.blocked(
        server.name,
        `:${port}`,
        'is the port of several targets, and the connection names none',
      );
      throw error;
    }
    reports.blocked(server.name, `:${port}`, `is the port of no target in "network.allow"`);
    throw new Refused(403, 'not in the list');
  }

  return { http, createTargetServer };
}

/** Reads the name of the target from the first bytes of a connection. Rejects if there is none in time. */
function readName(client) {
  const { promise, resolve, reject } = Promise.withResolvers();
  let head = Buffer.alloc(0);
  const refuse = () => reject(new Refused(400, 'the connection names no target'));
  const read = chunk => {
    head = Buffer.concat([head, chunk]);
    const name = nameInside(head);
    if (name === undefined && head.length < maxHelloBytes) return;
    client.pause().off('data', read).off('close', refuse).setTimeout(0);
    if (name === undefined) refuse();
    else resolve({ name, head });
  };
  client.setTimeout(headMs, refuse);
  client.on('close', refuse);
  client.on('data', read);
  return promise;
}

function authorityOf(text) {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(text) ?? [];
  if (host === undefined) throw new Refused(400, 'CONNECT needs name:port');
  return { host, port: Number(port) };
}

/** Returns the header fields without hop-by-hop fields. */
function passed({ rawHeaders, headers }) {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/));
  const fields = [];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at].toLowerCase();
    if (!hops.has(name) && !named.has(name) && !name.startsWith('proxy-'))
      fields.push(rawHeaders[at], rawHeaders[at + 1]);
  }
  return fields;
}

const headersOf = message =>
  `Content-Type: text/plain\r\nContent-Length: ${Buffer.byteLength(message) + 1}\r\nConnection: close\r\n`;

/** Returns status and message for the client. For a bug it also ends the forwarder, which the hub then restarts. */
function told(error) {
  if (error instanceof Refused)
    return { status: error.status, message: `AgentHub: ${error.message}` };
  process.nextTick(() => {
    throw error;
  });
  return { status: 500, message: 'AgentHub: internal error' };
}
