import { isIPv6 } from 'node:net';

/** Hosts that a machine reaches itself by under this name: its loopback addresses, and all of its addresses. */
const localHosts = ['localhost', '127.0.0.1', '::1', '0.0.0.0', '::'];

/** The address by which a server that listens on `host` and `port` is opened on its own machine. */
export function addressOf(listening: {
  /** A name or an IP address, IPv6 without brackets. */
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
}): string {
  const { host, port, isSecure } = listening;
  const name = localHosts.includes(host) ? 'localhost' : isIPv6(host) ? `[${host}]` : host;
  return `${isSecure ? 'https' : 'http'}://${name}:${port}`;
}
