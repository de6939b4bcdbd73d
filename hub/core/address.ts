import { isIPv6 } from 'node:net';

/**
 * Loopback and unspecified addresses: on the same machine, `localhost` reaches a server that listens on any of them.
 */
const localHosts = ['localhost', '127.0.0.1', '::1', '0.0.0.0', '::'];

/** Returns the URL at which a server that listens on `host` and `port` is reachable from its own machine. */
export function addressOf(listening: {
  /** A host name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}): string {
  const { host, port, isSecure } = listening;
  const name = localHosts.includes(host) ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}

/** True for the host name of a loopback address, with IPv6 in brackets. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);

/** Returns a URL without user, password, query and fragment, which may contain secrets. */
export function withoutSecrets(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}
