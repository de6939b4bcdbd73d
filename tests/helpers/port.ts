import { once } from 'node:events';
import { createServer } from 'node:net';

/** Of the range that the system gives to nobody on its own, below what composed hubs of tests have. */
const [firstPort, pairCount] = [10_000, 5_000];
/** `fetch` refuses to connect to this port (fetch.spec.whatwg.org, "port blocking"). */
const blockedPort = 10_080;
/** Files that run at the same time take every other port each. */
const own = Number(process.env['VITEST_POOL_ID'] ?? 0) % 2;
let pair = Math.floor(Math.random() * pairCount);

/**
 * A port on which nothing listens. No other process is given it by chance before it is used, nor while who
 * listens on it is away: that may happen to a port that the system has chosen.
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
