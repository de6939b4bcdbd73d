import { proxyPort, targetsOf } from '#config';
import type { Member } from './protocol.ts';

/** Settings of a server's container to reach the network through the forwarder. */
export type Way = {
  /** Environment variables that name the proxy. */
  readonly env: Readonly<Record<string, string>>;
  /** Entries for /etc/hosts, which resolve the exact targets to the forwarder's address. */
  readonly extraHosts: readonly string[];
};

export function wayOf({ subnet: { forwarder }, network }: Member): Way {
  const proxy = `http://${forwarder}:${proxyPort}`;
  const local = 'localhost,127.0.0.1,::1';
  const exact = targetsOf(network).filter(({ isExact }) => isExact);
  return {
    env: {
      HTTP_PROXY: proxy,
      HTTPS_PROXY: proxy,
      NO_PROXY: local,
      http_proxy: proxy,
      https_proxy: proxy,
      no_proxy: local,
      // Node ignores the other variables unless this one is set.
      NODE_USE_ENV_PROXY: '1',
    },
    extraHosts: [...new Set(exact.map(({ name }) => `${name}:${forwarder}`))],
  };
}
