import { once } from 'node:events';
import { chmod, lstat, unlink } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { type Server, connect } from 'node:net';
import type { Duplex } from 'node:stream';
import { type Clock, type Log, type Service, HubError, http, kindOf, messageOf } from '#core';
import { createEngineSocket, readAll } from './engine-socket.ts';
import { type AdmittedCall, type BuildContexts, createGate } from './gate.ts';
import { parseMountRoots } from './mounts.ts';
import { errorResponseOf, refusal, show } from './refusal.ts';
import type { BrokerOptions } from './settings.ts';
import { errorBody, openTunnel, respondAndClose } from './tunnel.ts';

type BrokerNeeds = BuildContexts & { readonly log: Log; readonly clock: Pick<Clock, 'after'> };

/** Maximum size of a request body in bytes. The largest body is that of a container creation. */
const maxBodyBytes = 1024 * 1024;
const maxConnectionCount = 1024;

/**
 * Creates the broker: a proxy in front of the engine's socket that only the hub may use. It admits the calls that the
 * hub makes, only for objects with this hub's label, and rebuilds their bodies from checked fields; it refuses all
 * other calls with a message. So a compromised hub can do no more than start sandboxed servers. Throws
 * HUB_CONFIG_INVALID for unusable mount roots. `start` rejects with HUB_PORT_TAKEN where another broker listens, and
 * with HUB_LISTEN_REFUSED where it cannot listen.
 */
export function createBroker(options: BrokerOptions, needs: BrokerNeeds): Service {
  const { log } = needs;
  const engine = createEngineSocket(options.enginePath, needs.clock);
  const mountRoots = parseMountRoots(options.mountRoots);
  const gate = createGate({ ...options, mountRoots }, { ...needs, engine });
  const tunnels = new Set<Duplex>();

  const server = http.createServer((request, response) => void answer(request, response));
  server.maxConnections = maxConnectionCount;
  server.on('upgrade', (request, client, head) => {
    tunnels.add(client);
    client.on('close', () => tunnels.delete(client));
    client.on('error', () => {});
    void upgrade(request, client, head);
  });

  return {
    async start() {
      await freeSocket(options.socketPath);
      await listen(server, options.socketPath);
      await chmod(options.socketPath, 0o660);
      log.info({ socket: options.socketPath, roots: options.mountRoots }, 'the broker listens');
    },
    async stop() {
      const closed = new Promise(resolve => server.close(resolve));
      for (const tunnel of tunnels) tunnel.destroy();
      server.closeAllConnections();
      await closed;
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const call = await admit(request);
      if (call.hijack) throw refusal(`${show(request.url)} without "Connection: Upgrade"`);
      if (call.answer !== undefined) {
        response.writeHead(200, { 'Content-Type': 'application/json' });
        response.end(JSON.stringify(call.answer));
      } else await forward(call, request, response);
    } catch (error) {
      const { status, message } = report(error, request);
      if (response.headersSent) return void response.destroy();
      response.writeHead(status, { 'Content-Type': 'application/json' });
      response.end(errorBody(message));
      request.resume();
    }
  }

  async function upgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    try {
      const { headers } = request;
      if (headers.upgrade !== 'tcp') throw refusal(`an upgrade to ${show(headers.upgrade)}`);
      // The raw stream follows the headers at once, so the engine would read a body as the start of the stream.
      const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers;
      if (length !== '0' || encoding !== undefined) throw refusal('a body before a raw stream');
      const call = await admit(request);
      if (!call.hijack) throw refusal(`an upgrade of ${show(request.url)}`);
      openTunnel(engine, call, client, head);
    } catch (error) {
      const { status, message } = report(error, request);
      respondAndClose(client, status, errorBody(message));
    }
  }

  function admit(request: IncomingMessage): Promise<AdmittedCall> {
    return gate({
      method: request.method ?? '',
      target: request.url ?? '',
      readBody: (maxBytes = maxBodyBytes) =>
        readAll(request, maxBytes).catch((error: unknown) => {
          if (error instanceof RangeError) throw refusal(`a body of ${error.message}`);
          throw new HubError('HUB_REQUEST_INVALID', 'the body ended before it was complete', {
            cause: error,
          });
        }),
    });
  }

  function report(error: unknown, request: IncomingMessage) {
    const { status, message } = errorResponseOf(error);
    const fields = { method: request.method, target: show(request.url), status };
    if (kindOf(error) === 'internal') log.error({ ...fields, error }, 'the broker failed');
    else log.warn(fields, message);
    return { status, message };
  }

  /** Forwards the call to the engine and streams the response back, without a timeout. */
  function forward(
    call: AdmittedCall,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { method, path, body } = call;
    // The client disconnected during the checks: no 'close' event will follow, so nothing would cancel the request.
    if (response.destroyed) {
      call.done?.();
      return Promise.resolve();
    }
    const headers = body && {
      'Content-Type': body.type,
      'Content-Length': String(Buffer.byteLength(body.content)),
    };
    const engineRequest = engine.open({ method, path, ...(headers && { headers }) });
    // The client disconnected: cancel the engine's request, because an event stream may never end. A creation
    // is not cancelled: the engine may create the object anyway, and the container registry must count it.
    response.on('close', () => {
      if (call.done === undefined) engineRequest.destroy();
      resolve();
    });
    engineRequest.on('error', error => {
      call.done?.();
      reject(engine.unreachable(error));
    });
    engineRequest.on('response', engineResponse => {
      call.done?.();
      const { statusCode = 502, headers: given } = engineResponse;
      const type = given['content-type'];
      response.writeHead(statusCode, type === undefined ? {} : { 'Content-Type': type });
      // Send the headers now: the first event may be hours away.
      response.flushHeaders();
      engineResponse.on('error', error => reject(engine.unreachable(error)));
      if (response.destroyed) engineResponse.resume();
      else engineResponse.pipe(response);
    });
    engineRequest.end(body?.content);
    // Discard an unneeded body, so that the connection can be reused.
    request.resume();
    return promise;
  }
}

/** Removes the socket file of a killed broker. Rejects with HUB_PORT_TAKEN if the path is in use. */
async function freeSocket(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined); // No file: the path is free.
  if (found === undefined) return;
  const taken = (what: string) =>
    new HubError(
      'HUB_PORT_TAKEN',
      `BROKER_SOCKET: ${what} at ${path}. Stop it or choose another path`,
    );
  if (!found.isSocket()) throw taken('there is a file that is not a socket');
  if (await isListening(path)) throw taken('another broker listens');
  await unlink(path);
}

/** Listens on a unix socket. Rejects with HUB_LISTEN_REFUSED. */
async function listen(server: Server, path: string): Promise<void> {
  try {
    const listening = once(server, 'listening');
    server.listen({ path });
    await listening;
  } catch (cause) {
    throw new HubError(
      'HUB_LISTEN_REFUSED',
      `BROKER_SOCKET: the broker cannot listen at ${path} (${messageOf(cause)}). ` +
        'Its folder must exist and be writable',
      { cause },
    );
  }
}

function isListening(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ path });
  socket.on('connect', () => resolve(true));
  socket.on('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
