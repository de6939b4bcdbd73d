import { proxyPort, targetsOf } from '#config';
import type { Member } from './protocol.ts';

/** What the container of a server needs to reach the network through the forwarder. */
export type Way = {
  /** Variables with the proxy. */
  readonly env: Readonly<Record<string, string>>;
  /** Entries for /etc/hosts: the exact targets, which the forwarder stands for. */
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
      // Node reads these variables only with this one.
      NODE_USE_ENV_PROXY: '1',
    },
    extraHosts: [...new Set(exact.map(({ name }) => `${name}:${forwarder}`))],
  };
}
