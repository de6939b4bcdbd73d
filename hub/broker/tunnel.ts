import { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { readAll, type Engine, type EngineCall } from './engine.ts';

const mostRefusalBytes = 64 * 1024;

/**
 * Joins a client that asked for a raw stream with the engine. Never times out. Either side may end
 * its half and go on listening; when one is gone, the other gets what is still on its way and is closed.
 * `sent` is what the client has sent behind the head of its request, before there was an answer.
 */
export function openTunnel(engine: Engine, call: EngineCall, client: Duplex, sent: Buffer): void {
  if (client instanceof Socket) client.setTimeout(0).setNoDelay(true);
  const asked = engine.open({ ...call, headers: { Connection: 'Upgrade', Upgrade: 'tcp' } });
  const giveUp = () => asked.destroy();
  client.on('close', giveUp);
  asked.on('error', error => sayAndClose(client, 502, say(engine.unreachable(error).message)));
  asked.on('response', answer => {
    // The engine refused: no such container, or it is gone. Its words go back as they are.
    readAll(answer, mostRefusalBytes).then(
      body => sayAndClose(client, answer.statusCode ?? 502, body),
      (error: unknown) => sayAndClose(client, 502, say(engine.unreachable(error).message)),
    );
  });
  asked.on('upgrade', (answer, socket, head) => {
    client.off('close', giveUp);
    const type = answer.headers['content-type'] ?? 'application/vnd.docker.raw-stream';
    client.write(
      `HTTP/1.1 101 UPGRADED\r\nContent-Type: ${type}\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n`,
    );
    if (head.length > 0) client.write(head);
    if (sent.length > 0) socket.write(sent);
    join(client, socket);
  });
  asked.end();
}

/** Answers on a connection that was to become a raw stream, and closes it. */
export function sayAndClose(client: Duplex, status: number, body: string): void {
  if (client.destroyed) return;
  client.end(
    `HTTP/1.1 ${status} Refused\r\nContent-Type: application/json\r\n` +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => client.destroy(),
  );
}

/** A message in the engine's form. */
export function say(message: string): string {
  return JSON.stringify({ message });
}

function join(client: Duplex, engine: Duplex): void {
  client.pipe(engine).pipe(client);
  // An error is followed by 'close', which says all that the other side needs to know.
  client.on('error', () => {});
  engine.on('error', () => {});
  client.on('close', () => closeSoon(engine));
  engine.on('close', () => closeSoon(client));
}

function closeSoon(stream: Duplex): void {
  if (stream.writableFinished) stream.destroy();
  else stream.end(() => stream.destroy());
}
