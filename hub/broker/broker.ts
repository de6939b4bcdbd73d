import { chmod } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { type Log, type Part, HubError, http, kindOf } from '#core';
import { createEngine, readAll } from './engine.ts';
import { type Admitted, createGate } from './gate.ts';
import { parseMountRoots } from './mounts.ts';
import { answerTo, refusal } from './refusal.ts';
import { freeSocket, listen } from './socket.ts';
import { show } from './target.ts';
import { openTunnel, say, sayAndClose } from './tunnel.ts';

export type BrokerOptions = {
  /** Where the broker listens: a path in a folder that it shares with the hub and nobody else. */
  readonly socketPath: string;
  /** The engine's own socket. */
  readonly enginePath: string;
  /** The value of the label on everything that belongs to the hub. */
  readonly hubId: string;
  /** The prefix of the names of everything that belongs to the hub, and its compose project. */
  readonly hubName: string;
  /** Folders on the engine's machine below which servers may be given folders. None by default. */
  readonly mountRoots: readonly string[];
  /** The hosts of the registries that images may be pulled from. */
  readonly registries: readonly string[];
  /** Holds the folders npm/ and python/ that images are built from. */
  readonly imagesDir: string;
};

export type BrokerNeeds = {
  readonly log: Log;
  /** The files of a folder as a tar archive, as the hub's own driver makes it: one package, one image. */
  readonly readBuildContext: (folder: string, lock?: string) => Promise<Buffer>;
  /** The lock in such an archive. */
  readonly readLock: (context: Buffer) => string | undefined;
};

/** The largest body that is a client's to write: that of a container's creation. */
const mostBodyBytes = 1024 * 1024;
const mostConnections = 1024;

/**
 * The one that holds the engine's socket. It admits the calls that the hub makes, on what carries
 * this hub's label, and writes their bodies anew; everything else is refused, with a sentence. So a hub
 * that was taken over can do no more than start sandboxed servers. Throws HUB_CONFIG_INVALID at once for roots that
 * cannot be, and HUB_BROKER_REFUSED at start where another broker listens.
 */
export function createBroker(options: BrokerOptions, needs: BrokerNeeds): Part {
  const { log, readBuildContext, readLock } = needs;
  const engine = createEngine(options.enginePath);
  const gate = createGate(
    { ...options, mountRoots: parseMountRoots(options.mountRoots) },
    { engine, readBuildContext, readLock },
  );
  const tunnels = new Set<Duplex>();

  const server = http.createServer((request, response) => {
    void answer(request, response);
  });
  server.maxConnections = mostConnections;
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
      } else await pass(call, request, response);
    } catch (error) {
      const { status, message } = report(error, request);
      if (response.headersSent) {
        response.destroy();
      } else {
        response.writeHead(status, { 'Content-Type': 'application/json' });
        response.end(say(message));
        request.resume();
      }
    }
  }

  async function upgrade(request: IncomingMessage, client: Duplex, head: Buffer): Promise<void> {
    try {
      const { headers } = request;
      if (headers.upgrade !== 'tcp') throw refusal(`an upgrade to ${show(headers.upgrade)}`);
      // What follows the headers is the stream. A body would be read as its beginning.
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
      sayAndClose(client, status, say(message));
    }
  }

  function admit(request: IncomingMessage): Promise<Admitted> {
    return gate({
      method: request.method ?? '',
      target: request.url ?? '',
      readBody: (mostBytes = mostBodyBytes) =>
        readAll(request, mostBytes).catch((error: unknown) => {
          if (error instanceof RangeError) throw refusal(`a body of ${error.message}`);
          throw new HubError('HUB_REQUEST_INVALID', 'the body ended before it was complete', {
            cause: error,
          });
        }),
    });
  }

  function report(error: unknown, request: IncomingMessage) {
    const { status, message } = answerTo(error);
    const fields = { method: request.method, target: show(request.url), status };
    if (kindOf(error) === 'internal') log.error({ ...fields, error }, 'the broker failed');
    else log.warn(fields, message);
    return { status, message };
  }

  /** Hands the call to the engine and its answer back, as it comes, for as long as it takes. */
  function pass(call: Admitted, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const { body } = call;
    const headers = body && {
      'Content-Type': body.type,
      'Content-Length': String(Buffer.byteLength(body.content)),
    };
    const asked = engine.open({
      method: call.method,
      path: call.path,
      ...(headers && { headers }),
    });
    // A client that went away wants no answer, and one may never come: events are waited for without end.
    // What is being created is waited for: the engine may make it all the same, and it must be known of.
    response.on('close', () => {
      if (call.done === undefined) asked.destroy();
      resolve();
    });
    asked.on('error', error => {
      call.done?.();
      reject(engine.unreachable(error));
    });
    asked.on('response', answered => {
      call.done?.();
      const type = answered.headers['content-type'];
      response.writeHead(
        answered.statusCode ?? 502,
        type === undefined ? {} : { 'Content-Type': type },
      );
      // Sent now: the first event may be hours away.
      response.flushHeaders();
      answered.on('error', error => reject(engine.unreachable(error)));
      if (response.destroyed) answered.resume();
      else answered.pipe(response);
    });
    asked.end(body?.content);
    // A body that the call does not need is read and forgotten, or the connection could not be used again.
    request.resume();
    return promise;
  }
}
