import { isIP } from 'node:net';

/** Network access of a server. `allow` has targets in the form of `findNetworkTarget`, in lower case. */
export type Network = 'none' | 'bridge' | { readonly allow: readonly string[] };

/** A target of an `allow` list. */
type NetworkTarget = {
  /** Host name, `*.name` for all names below a domain, or `*` for all names. */
  readonly name: string;
  readonly ports: readonly number[];
  /** True if the target names a host and a port. It may then have a private address, and needs no proxy. */
  readonly isExact: boolean;
};

/** Port of the HTTP proxy, in the container that also forwards connections to exact targets. */
export const proxyPort = 3128;

const defaultPorts: readonly number[] = [80, 443];
const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const names = new RegExp(`^(?:\\*|(?:\\*\\.)?${label}(?:\\.${label})*)$`);
/** Pattern of hosts whose last label is a number, which programs read as an IP address. */
const numbers = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/**
 * Parses a target of an allow list: `name`, `*.name` or `*`, with an optional port. Returns `problem` if it is invalid.
 */
export function findNetworkTarget(written: string): NetworkTarget | { readonly problem: string } {
  const target = written.toLowerCase();
  const [, scheme] = /^([a-z][a-z0-9+.-]*):\/\//.exec(target) ?? [];
  if (scheme !== undefined) return refusal(`write the name of the host, without "${scheme}://"`);
  const [host = '', rest] = target.split('/', 2);
  if (rest !== undefined)
    return refusal(
      isAddress(host)
        ? 'write names instead of a range of addresses, such as "api.example.com"'
        : 'write the name of the host, without a path',
    );
  if (isAddress(target) || isAddress(host.replace(/:\d+$/, '')))
    return refusal('write a name instead of an address, such as "api.example.com"');
  const [, name = host, digits] = /^(.*):(.*)$/.exec(host) ?? [];
  if (!names.test(name) || name.length > 253)
    return refusal(
      'write a name such as "api.example.com", or "*.example.com" for all names below it, and a port if it needs another than 80 and 443: "db.internal:5432"',
    );
  if (name === 'localhost' || name.endsWith('.localhost'))
    return refusal(
      'remove it: this is the container of the server itself, which it always reaches',
    );
  if (digits === undefined) return { name, ports: defaultPorts, isExact: false };
  const port = /^\d{1,5}$/.test(digits) ? Number(digits) : 0;
  if (port < 1 || port > 65_535) return refusal('write a port from 1 to 65535');
  const isExact = !name.startsWith('*');
  if (isExact && port === proxyPort)
    return refusal(`use another port than ${proxyPort}, which is that of the server's proxy`);
  return { name, ports: [port], isExact };
}

const refusal = (problem: string) => ({ problem });

const isAddress = (host: string) =>
  isIP(host.replace(/^\[|\]$/g, '')) !== 0 || numbers.test(host) || /^\[.*\]/.test(host);

/** Returns the valid targets of an `allow` list; an empty list for `none` and `bridge`. */
export const targetsOf = (network: Network): readonly NetworkTarget[] =>
  typeof network === 'string'
    ? []
    : network.allow.map(findNetworkTarget).filter(target => 'name' in target);

/** Returns the part of the network that requires a new container when it changes: its kind, and the exact targets. */
export function fixedNetwork(network: Network): Network {
  if (typeof network === 'string') return network;
  const isExact = (target: string) => targetsOf({ allow: [target] }).some(found => found.isExact);
  return { allow: network.allow.filter(isExact).toSorted() };
}
