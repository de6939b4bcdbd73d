import { lstat, unlink } from 'node:fs/promises';
import { type Server, connect } from 'node:net';
import { HubError, messageOf } from '#core';

/**
 * Removes the socket file of a broker that was killed. Rejects with HUB_PORT_TAKEN if a broker still listens
 * there or the path is another kind of file.
 */
export async function freeSocket(path: string): Promise<void> {
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
export function listen(server: Server, path: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const failed = (error: Error) =>
    reject(
      new HubError(
        'HUB_LISTEN_REFUSED',
        `BROKER_SOCKET: the broker cannot listen at ${path} (${messageOf(error)}). ` +
          'Its folder must exist and be writable',
        { cause: error },
      ),
    );
  server.once('error', failed);
  server.listen({ path }, () => {
    server.off('error', failed);
    resolve();
  });
  return promise;
}

function isListening(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect({ path });
  socket.on('connect', () => resolve(true));
  socket.on('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}
