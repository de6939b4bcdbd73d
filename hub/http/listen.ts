import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import { isIPv6 } from 'node:net';
import type { Server } from 'node:http';
import { HubError, messageOf } from '#core';

type Place = { readonly host: string; readonly port: number };

/**
 * Listens on a port. For `localhost` it listens on all its addresses, because some clients try only one. Rejects with
 * HUB_PORT_TAKEN or HUB_LISTEN_REFUSED if the first address fails; failures of the others are ignored.
 */
export async function listenOn(place: Place, createServer: () => Server, resolve = addressesOf) {
  const { host, port } = place;
  const server = createServer();
  let others: readonly string[];
  try {
    const [first = host, ...rest] = await resolve(host);
    others = rest;
    await listen(server, first, port);
  } catch (error) {
    throw listenError(place, error);
  }
  const bound = server.address();
  const own = typeof bound === 'object' && bound ? bound.port : port;
  const servers = [server];
  for (const other of others) {
    const another = createServer();
    try {
      await listen(another, other, own);
      servers.push(another);
    } catch {
      // With IPv6 switched off, localhost may still resolve to ::1.
    }
  }
  return {
    port: own,
    /** Its sockets, such as `127.0.0.1:9090` and `[::1]:9090`. */
    sockets: servers.map(socketOf),
    /** Stops listening and closes all connections. */
    close: async () => void (await Promise.all(servers.map(close))),
  };
}

function socketOf(server: Server): string {
  const bound = server.address();
  if (typeof bound !== 'object' || !bound) return '';
  return `${isIPv6(bound.address) ? `[${bound.address}]` : bound.address}:${bound.port}`;
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (host !== 'localhost') return [host];
  const found = await lookup(host, { all: true });
  return [...new Set(found.map(({ address }) => address))];
}

/** The addresses of these names, and loopback. Rejects if the first name is unknown. */
export async function addressesOfNetworks(networks: readonly string[]): Promise<readonly string[]> {
  const [first = '', ...rest] = networks;
  const find = async (name: string) => (await lookup(name, { all: true })).map(one => one.address);
  const others = await Promise.all(rest.map(name => find(name).catch(() => [])));
  return [...new Set([...(await find(first)), '127.0.0.1', ...others.flat()])];
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  server.listen({ host, port });
  await once(server, 'listening');
}

async function close(server: Server): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

function listenError(place: Place, error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error)) return error;
  if (error.code === 'EADDRINUSE')
    return new HubError(
      'HUB_PORT_TAKEN',
      `ROUTER_PORT: ${place.host}:${place.port} is in use, perhaps by another hub. Stop that, or set another port`,
      { cause: error },
    );
  return new HubError(
    'HUB_LISTEN_REFUSED',
    `ROUTER_HOST, ROUTER_PORT: the hub cannot listen on ${place.host}:${place.port} (${messageOf(error)})`,
    { cause: error },
  );
}
