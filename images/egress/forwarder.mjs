// The process: reads the lists from stdin, listens, and reports on stdout.
import { createInterface } from 'node:readline';
import { createOutside } from './outside.mjs';
import { createProxy } from './proxy.mjs';
import { createReports } from './reports.mjs';
import { poolOf } from './rules.mjs';

const proxyPort = 3128;

const state = {
  servers: new Map(),
  pool: undefined,
  hub: { addresses: [], ports: [], backends: [] },
};
const write = message => void process.stdout.write(`${JSON.stringify(message)}\n`);
const reports = createReports(write);
const outside = createOutside(state, reports);
const proxy = createProxy({
  outside,
  reports,
  countServers: () => state.servers.size,
  /** Both addresses must match: a container answers for all its addresses on every network. */
  findServer(peer = '', local = '') {
    const server = state.servers.get(plain(peer));
    return server?.self === plain(local) ? server : undefined;
  },
});
/** The listeners for targets, by port. */
const listeners = new Map();

/** An IPv4 address that a socket for both families shows in IPv6 notation. */
const plain = address => address.replace(/^::ffff:/, '');

const listening = (server, port) => {
  const { promise, resolve, reject } = Promise.withResolvers();
  server.once('error', reject);
  server.listen({ port, host: '0.0.0.0' }, resolve);
  return promise;
};

/** Applies the whole state. Ends connections that it does not allow. */
async function apply({ apply: number, servers, pool, hub }) {
  state.pool = poolOf(pool);
  state.hub = hub;
  state.servers = new Map(servers.map(server => [server.peer, server]));
  const ports = new Set(
    servers.flatMap(({ allow }) => allow.filter(one => one.internal).flatMap(one => one.ports)),
  );
  for (const [port, server] of listeners)
    if (!ports.has(port)) {
      listeners.delete(port);
      server.close();
    }
  for (const port of ports)
    if (!listeners.has(port)) {
      const server = proxy.createTargetServer(port);
      listeners.set(port, server);
      await listening(server, port);
    }
  outside.recheck();
  write({ applied: number });
}

await listening(proxy.http, proxyPort);
await outside.learnHost();
// The first process of a container ignores SIGTERM without a handler.
process.on('SIGTERM', () => process.exit(0));
for await (const line of createInterface({ input: process.stdin }))
  if (line !== '') await apply(JSON.parse(line));
