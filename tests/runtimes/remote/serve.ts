import { once } from 'node:events';
import http from 'node:http';
import assert from 'node:assert/strict';

export type Served = {
  /** URL that ends in /mcp. */
  readonly url: string;
  /** Stops the server, and closes all its connections. */
  stop(): Promise<void>;
};

/** Starts an HTTP server on a free port of this machine. */
export async function serve(
  handle: (request: http.IncomingMessage, response: http.ServerResponse) => unknown,
): Promise<Served> {
  const server = http.createServer((request, response) => {
    request.on('error', () => {});
    // An error of the handler breaks the connection, which fails the test.
    const handled = async () => handle(request, response);
    handled().catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  assert.ok(address !== null && typeof address === 'object');
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    async stop() {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}
