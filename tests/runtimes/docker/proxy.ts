import { mkdtempSync, rmSync } from 'node:fs';
import { type Socket, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineHost } from '#helpers/engine-probe';

/** A way to the engine that can be cut, taken away and brought back, as when the engine restarts. */
export async function createProxy() {
  const folder = mkdtempSync(join(tmpdir(), 'engine-'));
  const path = join(folder, 'docker.sock');
  const open = new Set<Socket>();
  let callsToFailure = 0;
  const server = createServer(near => {
    const isLost = --callsToFailure === 0;
    const far = connect(engineHost.replace('unix://', ''));
    for (const socket of [near, far]) {
      open.add(socket);
      socket.on('close', () => open.delete(socket));
      socket.on('error', () => {});
    }
    near.pipe(far).on('close', () => near.destroy());
    // The engine does what it was asked to, but its answer is lost.
    if (isLost) far.once('data', () => near.destroy());
    else far.pipe(near).on('close', () => far.destroy());
  });
  const cut = () => open.forEach(socket => socket.destroy());
  const back = () => new Promise<void>(resolve => server.listen(path, resolve));
  const away = () =>
    new Promise<void>(resolve => {
      server.close(() => resolve());
      cut();
    });
  await back();
  return {
    host: `unix://${path}`,
    cut,
    isAway: () => !server.listening,
    away,
    back,
    /** Loses the answer of the call that is this many from now; every call has a connection of its own. */
    failCall: (calls: number) => void (callsToFailure = calls),
    async [Symbol.asyncDispose]() {
      if (server.listening) await away();
      rmSync(folder, { recursive: true });
    },
  };
}
