import { isIPv4 } from 'node:net';

/** Address to connect to, instead of resolving the host name of the URL. */
export type Dial = { readonly host: string; readonly port: number };

/** The owner's key of a hub, and an address at which only that hub answers. */
export type OwnerAccess = {
  readonly key: string;
  /** The hub's own socket. Undefined if the hub's certificate identifies it. */
  readonly dial: Dial | undefined;
};

const wildcards = ['0.0.0.0', '[::]'];

/**
 * Finds the socket that a URL refers to among those that the hub listens on (`127.0.0.1:9090`). Undefined if it is
 * none of them: `localhost` has several addresses, and another program may listen on another one.
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

/** True if the host of a URL is this machine. */
export const isLoopback = (host: string): boolean =>
  host === 'localhost' || host === '[::1]' || (host.startsWith('127.') && isIPv4(host));
