import { once } from 'node:events';
import { createServer } from 'node:net';

/** Ports below the range from which the system assigns ports, and below those of compose.test.ts. */
const [firstPort, pairCount] = [10_000, 5_000];
/** `fetch` refuses to connect to this port (fetch.spec.whatwg.org, "port blocking"). */
const blockedPort = 10_080;
/** Test files that run in parallel use alternate ports. */
const own = Number(process.env['VITEST_POOL_ID'] ?? 0) % 2;
let pair = Math.floor(Math.random() * pairCount);

/**
 * Returns a port on which no process listens. The system assigns it to no other process, not even while its listener is
 * down for a while. A port from listening on 0 may be assigned again.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    pair = (pair + 1) % pairCount;
    const port = firstPort + 2 * pair + own;
    if (port === blockedPort) continue;
    const server = createServer().listen(port);
    try {
      await once(server, 'listening');
    } catch {
      continue;
    }
    server.close();
    await once(server, 'close');
    return port;
  }
}
