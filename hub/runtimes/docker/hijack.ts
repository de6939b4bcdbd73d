import { Socket } from 'node:net';
import { Duplex } from 'node:stream';
import type Dockerode from 'dockerode';

const keepAliveMs = 30_000;

/**
 * Asks for a raw connection. `container.attach` sends its options once more as the body of the
 * request, and what an engine or a broker has not read of that ends up in the container's stdin.
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
      else reject(error ?? new Error('the engine gave no raw connection'));
    },
  );
  return promise;
}
