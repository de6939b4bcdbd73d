import { mkdtempSync, rmSync } from 'node:fs';
import { type Socket, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { engineHost } from '#helpers/engine-probe';

/**
 * Proxy to the engine that can drop its connections, disappear and return, as when the engine restarts, or stop
 * answering, as when the engine hangs.
 */
export async function createProxy(host = engineHost) {
  const folder = mkdtempSync(join(tmpdir(), 'engine-'));
  const path = join(folder, 'docker.sock');
  const open = new Set<Socket>();
  let callsToFailure = 0;
  let callsToSilence = 0;
  /** Relays for the connections that were opened while the proxy was frozen; undefined unless it is frozen. */
  let unheard: (() => void)[] | undefined;
  const server = createServer(near => {
    if (--callsToSilence === 0) unheard ??= [];
    open.add(near);
    near.on('close', () => open.delete(near));
    near.on('error', () => {});
    if (unheard) unheard.push(() => relay(near));
    else relay(near);
  });
  function relay(near: Socket): void {
    const isLost = --callsToFailure === 0;
    const far = connect(host.replace('unix://', ''));
    open.add(far);
    far.on('close', () => open.delete(far));
    far.on('error', () => {});
    near.pipe(far).on('close', () => near.destroy());
    // The engine executes the call, but its answer is lost.
    if (isLost) far.once('data', () => near.destroy());
    else far.pipe(near).on('close', () => far.destroy());
  }
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
    /** Loses the answer to the n-th call from now, counted from 1. Each call has a connection of its own. */
    failCall: (calls: number) => void (callsToFailure = calls),
    /** Answers no calls from the n-th on, counted from 1. Open connections are still relayed. */
    freeze: (calls = 1) => void (callsToSilence = calls),
    /** Relays the calls that arrived while the proxy was frozen, even if their callers have disconnected. */
    thaw(): void {
      callsToSilence = 0;
      const calls = unheard ?? [];
      unheard = undefined;
      for (const call of calls) call();
    },
    async [Symbol.asyncDispose]() {
      if (server.listening) await away();
      rmSync(folder, { recursive: true });
    },
  };
}
