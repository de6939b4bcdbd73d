import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type Dockerode from 'dockerode';

const keepAliveMs = 30_000;

/**
 * Opens a raw connection to the standard streams of a container. Replaces `container.attach`, which repeats its options
 * in the request body: bytes that the engine or the broker leaves unread end up in the stdin of the container.
 */
export function hijack(engine: Dockerode, id: string, abortSignal: AbortSignal): Promise<Duplex> {
  const { promise, resolve, reject } = Promise.withResolvers<Duplex>();
  engine.modem.dial(
    {
      path: `/containers/${id}/attach?`,
      method: 'POST',
      options: { stream: 1, stdin: 1, stdout: 1, stderr: 1 },
      file: Buffer.alloc(0),
      hijack: true,
      isStream: true,
      abortSignal,
      statusCodes: { 404: 'no such container', 409: 'conflict', 500: 'server error' },
    },
    (error, stream) => {
      if (stream instanceof Socket) stream.setNoDelay(true).setKeepAlive(true, keepAliveMs);
      if (stream instanceof Duplex) resolve(stream);
      else reject(error ?? new Error('the engine did not open a raw connection'));
    },
  );
  return promise;
}
