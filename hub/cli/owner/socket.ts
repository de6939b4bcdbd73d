import { isIPv4 } from 'node:net';

/** Where to connect to, instead of looking up the name in an address. */
export type Dial = { readonly host: string; readonly port: number };

/** The owner's key of a hub, and how that hub is reached for sure. */
export type OwnerAccess = {
  readonly key: string;
  /** The socket that is the hub's own. Undefined where its certificate proves which hub answers. */
  readonly dial: Dial | undefined;
};

const wildcards = ['0.0.0.0', '[::]'];

/**
 * The socket of a hub that an address leads to, out of those that it listens on (`127.0.0.1:9090`); undefined
 * where it is none of them. `localhost` has several addresses, and at another one somebody else may listen.
 */
export function socketOf(url: URL, sockets: readonly string[]): Dial | undefined {
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const names = url.hostname === 'localhost' ? ['127.0.0.1', '[::1]'] : [url.hostname];
  const listensAt = (name: string) =>
    sockets.includes(`${name}:${port}`) ||
    (isLoopback(name) && wildcards.some(wildcard => sockets.includes(`${wildcard}:${port}`)));
  const found = names.find(listensAt);
  return found === undefined
    ? undefined
    : { host: found.replace(/^\[(.*)\]$/, '$1'), port: Number(port) };
}

/** Whether a host of a URL is this machine and no other. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || (host.startsWith('127.') && isIPv4(host));
