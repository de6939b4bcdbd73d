import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { networkInterfaces } from 'node:os';
import type { Settings } from '#config';
import type { HubPlaces } from '#runtimes/docker';

type Addresses = Pick<Settings, 'port' | 'redisUrl' | 'qdrantUrl'> & {
  readonly ollama: Pick<Settings['ollama'], 'url'>;
};
type Lookup = (host: string) => Promise<readonly string[]>;

const defaultPorts: Readonly<Record<string, number>> = {
  'redis:': 6379,
  'rediss:': 6379,
  'http:': 80,
  'https:': 443,
};

/**
 * Creates a function that finds the addresses of the hub and its services, which no server may reach through the
 * forwarder. Called for each use.
 */
export function createHubPlaces(
  { port, redisUrl, qdrantUrl, ollama }: Addresses,
  find: Lookup = addressesOf,
): () => Promise<HubPlaces> {
  const backends = [redisUrl, qdrantUrl, ollama.url].flatMap(text => {
    const url = URL.parse(text ?? '');
    const own = url && (Number(url.port) || defaultPorts[url.protocol]);
    return own ? [{ host: url.hostname.replace(/^\[|\]$/g, ''), port: own }] : [];
  });
  /** The addresses that were found last, by host. */
  const known = new Map<string, readonly string[]>();

  /** Finds the addresses of a host. While it cannot be resolved, its last addresses count. */
  async function resolve(host: string): Promise<readonly string[]> {
    const found = await find(host);
    if (found.length > 0) known.set(host, found);
    return known.get(host) ?? [];
  }

  return async () => {
    const found = await Promise.all(
      backends.map(async ({ host, port: own }) =>
        (await resolve(host)).map(address => ({ address, port: own })),
      ),
    );
    const all = Object.values(networkInterfaces()).flatMap(addresses => addresses ?? []);
    return {
      addresses: all.filter(({ internal }) => !internal).map(({ address }) => address),
      // Services on this machine may listen on an address that containers reach.
      ports: [port, ...backends.map(backend => backend.port)],
      backends: found.flat(),
    };
  };
}

async function addressesOf(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return (await lookup(host, { all: true })).map(({ address }) => address);
  } catch {
    return []; // The caller then uses the addresses that were found before.
  }
}
