// Entry point of the egress forwarder: reads the allow lists of the servers from stdin, and reports traffic on stdout.
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
  /**
   * Returns the server of a connection by the addresses of both ends. The local one must match too: the forwarder's
   * container accepts connections to each of its addresses on every network.
   */
  findServer(peer = '', local = '') {
    const server = state.servers.get(plain(peer));
    return server?.self === plain(local) ? server : undefined;
  },
});
/** Listeners for targets of raw TCP connections, by port. */
const listeners = new Map();

/** Removes the IPv6 prefix of an IPv4 address, which dual-stack sockets report. */
const plain = address => address.replace(/^::ffff:/, '');

const listening = (server, port) => {
  const { promise, resolve, reject } = Promise.withResolvers();
  server.once('error', reject);
  server.listen({ port, host: '0.0.0.0' }, resolve);
  return promise;
};

/**
 * Replaces the state by the one in a message of the hub. Closes connections that it does not allow. With `keeps_others`,
 * servers that the message does not contain keep their lists.
 */
async function apply({ apply: number, servers, pool, hub, keeps_others: keepsOthers }) {
  state.pool = poolOf(pool);
  state.hub = hub;
  const others = keepsOthers ? state.servers : [];
  state.servers = new Map([...others, ...servers.map(server => [server.peer, server])]);
  const exact = [...state.servers.values()].flatMap(({ allow }) =>
    allow.filter(one => one.internal),
  );
  const ports = new Set(exact.flatMap(one => one.ports));
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
// Without a handler, SIGTERM has no effect on PID 1 of a container.
process.on('SIGTERM', () => process.exit(0));
for await (const line of createInterface({ input: process.stdin }))
  if (line !== '') await apply(JSON.parse(line));
