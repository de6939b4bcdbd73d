import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { type EngineSocket, readAll } from './engine-socket.ts';
import type { AdmittedCall } from './gate.ts';

const maxRefusalBytes = 64 * 1024;

/**
 * Connects a client to a raw stream of the engine. Never times out. Either side may close its sending half and still
 * receive; when one side disconnects, the other gets the remaining data and is closed. `early` is data of the client
 * that followed its request head.
 */
export function openTunnel(
  engine: EngineSocket,
  { method, path }: AdmittedCall,
  client: Duplex,
  early: Buffer,
): void {
  // The client disconnected during the checks: no 'close' event will follow.
  if (client.destroyed) return;
  if (client instanceof Socket) client.setTimeout(0).setNoDelay(true);
  const request = engine.open({ method, path, headers: { Connection: 'Upgrade', Upgrade: 'tcp' } });
  const cancel = () => request.destroy();
  client.on('close', cancel);
  const fail = (error: unknown) =>
    respondAndClose(client, 502, errorBody(engine.unreachable(error).message));
  request.on('error', fail);
  // The engine refused the call, for example because the container was removed. Its response is passed on unchanged.
  request.on('response', answer => {
    const pass = (body: string) => respondAndClose(client, answer.statusCode ?? 502, body);
    readAll(answer, maxRefusalBytes).then(pass, fail);
  });
  request.on('upgrade', (answer, socket, head) => {
    client.off('close', cancel);
    const type = answer.headers['content-type'] ?? 'application/vnd.docker.raw-stream';
    client.write(
      `HTTP/1.1 101 UPGRADED\r\nContent-Type: ${type}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n`,
    );
    if (head.length > 0) client.write(head);
    if (early.length > 0) socket.write(early);
    join(client, socket);
  });
  request.end();
}

/** Sends an HTTP response instead of the requested raw stream, and closes the connection. */
export function respondAndClose(client: Duplex, status: number, body: string): void {
  if (client.destroyed) return;
  client.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => client.destroy(),
  );
}

/** Returns an error body in the engine's format. */
export const errorBody = (message: string) => JSON.stringify({ message });

function join(client: Duplex, engine: Duplex): void {
  client.pipe(engine).pipe(client);
  // A 'close' event follows every error and is handled below.
  client.on('error', () => {});
  engine.on('error', () => {});
  client.on('close', () => closeSoon(engine));
  engine.on('close', () => closeSoon(client));
}

function closeSoon(stream: Duplex): void {
  if (stream.writableFinished) stream.destroy();
  else stream.end(() => stream.destroy());
}
