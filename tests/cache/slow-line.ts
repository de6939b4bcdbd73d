import { once } from 'node:events';
import { type Socket, connect, createServer } from 'node:net';

/** Proxy to Redis that delays each chunk of data in both directions. */
type SlowLine = AsyncDisposable & {
  readonly url: string;
  /** Delay of each direction, in ms. Initially 0. */
  delayMs: number;
};

export async function openSlowLine(url: string): Promise<SlowLine> {
  const { hostname, port } = new URL(url);
  const sockets = new Set<Socket>();
  const server = createServer(client => {
    const redis = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, redis],
      [redis, client],
    ] as const) {
      sockets.add(from);
      from.on('data', piece => {
        if (line.delayMs === 0) to.write(piece);
        else setTimeout(() => to.write(piece), line.delayMs);
      });
      from.on('error', () => {});
      from.on('close', () => {
        sockets.delete(from);
        to.destroy();
      });
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const line = {
    url: `redis://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`,
    delayMs: 0,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, 'close');
    },
  };
  return line;
}
