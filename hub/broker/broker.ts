import { chmod } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Log, type Service, HubError, http, kindOf } from '#core';
import { createEngineSocket, readAll } from './engine-socket.ts';
import { type AdmittedCall, createGate } from './gate.ts';
import { parseMountRoots } from './mounts.ts';
import { errorResponseOf, refusal } from './refusal.ts';
import { freeSocket, listen } from './socket.ts';
import { show } from './target.ts';
import { errorBody, openTunnel, respondAndClose } from './tunnel.ts';

export type BrokerOptions = {
  /** Path of the socket that the broker listens on, in a folder shared only with the hub. */
  readonly socketPath: string;
  /** Path of the engine's own socket. */
  readonly enginePath: string;
  /** Value of the label on every object of the hub. */
  readonly hubId: string;
  /** Prefix of the name of every object of the hub, and its compose project. */
  readonly hubName: string;
  /** Folders on the engine's machine below which servers may mount folders. Empty by default. */
  readonly mountRoots: readonly string[];
  /** Hosts of the registries that images may be pulled from. */
  readonly registries: readonly string[];
  /** The folder with the build contexts npm/ and python/. */
  readonly imagesDir: string;
};

type BrokerNeeds = {
  readonly log: Log;
  /**
   * Packs a folder and an optional package lock into a tar archive. It is the same function as the hub's own
   * driver uses, so that a package always gives the same image.
   */
  readonly readBuildContext: (folder: string, lock?: string) => Promise<Buffer>;
  /** Returns the package lock in such an archive. */
  readonly readLock: (context: Buffer) => string | undefined;
};

/** Maximum size of a request body in bytes. The largest one is the creation of a container. */
const maxBodyBytes = 1024 * 1024;
const maxConnectionCount = 1024;

/**
 * Creates the broker: a proxy in front of the engine's socket that only the hub may use. It admits the calls
 * that the hub makes, only for objects with this hub's label, and rebuilds their bodies from checked fields; it
 * refuses everything else with a message. So a compromised hub can do no more than start sandboxed servers.
 * Throws HUB_CONFIG_INVALID for unusable mount roots. `start` rejects with HUB_PORT_TAKEN where another broker
 * listens, and with HUB_LISTEN_REFUSED where it cannot listen.
 */
export function createBroker(options: BrokerOptions, needs: BrokerNeeds): Service {
  const { log, readBuildContext, readLock } = needs;
  const engine = createEngineSocket(options.enginePath);
  const gate = createGate(
    { ...options, mountRoots: parseMountRoots(options.mountRoots) },
    { engine, readBuildContext, readLock },
  );
  const tunnels = new Set<Duplex>();

  const server = http.createServer((request, response) => {
    void answer(request, response);
  });
  server.maxConnections = maxConnectionCount;
  server.on('upgrade', (request, client, head) => {
    tunnels.add(client);
    client.on('close', () => tunnels.delete(client));
    client.on('error', () => {});
    void upgrade(request, client, head);
  });

  return {
    name: 'broker',
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
      if (response.headersSent) {
        response.destroy();
      } else {
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(errorBody(message));
        request.resume();
      }
    }
  }

  async function upgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    try {
      const { headers } = request;
      if (headers.upgrade !== 'tcp') throw refusal(`an upgrade to ${show(headers.upgrade)}`);
      // The raw stream follows the headers at once. The engine would read a body as the start of the stream.
      if (
        (headers['content-length'] ?? '0') !== '0' ||
        headers['transfer-encoding'] !== undefined
      ) {
        throw refusal('a body before a raw stream');
      }
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

  /** Forwards the call to the engine and streams the answer back, without a timeout. */
  function forward(
    call: AdmittedCall,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { body } = call;
    const headers = body && {
      'Content-Type': body.type,
      'Content-Length': String(Buffer.byteLength(body.content)),
    };
    const engineRequest = engine.open({
      method: call.method,
      path: call.path,
      ...(headers && { headers }),
    });
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
      const type = engineResponse.headers['content-type'];
      response.writeHead(
        engineResponse.statusCode ?? 502,
        type === undefined ? {} : { 'Content-Type': type },
      );
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
