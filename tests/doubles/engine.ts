import { once } from 'node:events';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';

export type EngineDouble = AsyncDisposable & {
  /** A temporary folder, removed with the double. */
  readonly folder: string;
  readonly socketPath: string;
  readonly server: Server;
};

type Upgrade = (request: IncomingMessage, socket: Duplex) => void;

/** Starts a Docker engine double: an HTTP server on a Unix socket, which answers as the test says. */
export async function startEngine(
  answer: (request: IncomingMessage, response: ServerResponse) => unknown,
  upgrade?: Upgrade,
): Promise<EngineDouble> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'engine-')));
  const socketPath = join(folder, 'engine.sock');
  const server = createServer((request, response) => {
    // If `answer` throws, the connection breaks, which the test sees.
    const answered = async () => answer(request, response);
    answered().catch(() => response.destroy());
  });
  if (upgrade) server.on('upgrade', upgrade);
  server.listen({ path: socketPath });
  await once(server, 'listening');
  return {
    folder,
    socketPath,
    server,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await rm(folder, { recursive: true });
    },
  };
}
