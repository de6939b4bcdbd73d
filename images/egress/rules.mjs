// Decides what a server may connect to: names by its allow list, and IP addresses by their kind, such as private.
import { BlockList, isIPv4 } from 'node:net';

const label = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?';
const names = new RegExp(`^${label}(?:\\.${label})*$`);
/** Matches hosts whose last label is a number, which many programs parse as an IPv4 address. */
const numbers = /(?:^|\.)(?:\d+|0x[0-9a-f]*)$/;

/** Returns a host name in lower case; undefined if the text is no host name, such as an IP address in any notation. */
export function nameOf(text) {
  const name = text.toLowerCase().replace(/\.$/, '');
  return name.length <= 253 && names.test(name) && !numbers.test(name) ? name : undefined;
}

const covers = (pattern, name) =>
  pattern === '*' ||
  pattern === name ||
  (pattern.startsWith('*.') && name.endsWith(pattern.slice(1)));

/**
 * Returns the entry of a list that allows a target, preferably an internal one. An entry without `ports` allows all.
 */
export function findEntry(allow, name, port) {
  const found = allow.filter(one => covers(one.name, name) && (one.ports?.includes(port) ?? true));
  return found.find(one => one.internal) ?? found[0];
}

function listOf(type, texts) {
  const list = new BlockList();
  for (const text of texts.split(' ')) {
    const [address, bits] = text.split('/');
    list.addSubnet(address, Number(bits), type);
  }
  return list;
}

/** Addresses that no server may connect to, with reasons. The two /32 addresses are metadata services of clouds. */
const never = [
  { why: 'is a loopback address', list: listOf('ipv4', '127.0.0.0/8') },
  {
    why: 'is a link-local or metadata address',
    list: listOf('ipv4', '169.254.0.0/16 192.0.0.0/24 100.100.100.200/32 168.63.129.16/32'),
  },
  { why: 'is a multicast address', list: listOf('ipv4', '224.0.0.0/4') },
  { why: 'is a reserved address', list: listOf('ipv4', '0.0.0.0/8 240.0.0.0/4') },
];
const privateV4 = listOf(
  'ipv4',
  '10.0.0.0/8 172.16.0.0/12 192.168.0.0/16 100.64.0.0/10 198.18.0.0/15',
);
const publicV6 = listOf('ipv6', '2000::/3');
/** Subnets of Teredo and 6to4, whose addresses contain IPv4 addresses. */
const tunnelsV6 = listOf('ipv6', '2001::/32 2002::/16');
const privateV6 = listOf('ipv6', 'fc00::/7');
const metadataV6 = listOf('ipv6', 'fd00:ec2::254/128');

/**
 * Returns why connecting to an address is not allowed; undefined if it is allowed. `isInternal`: the list names the
 * target exactly, which allows private addresses. `host`: addresses of the hub's machine. `hub.backends`: addresses and
 * ports that only the hub may connect to.
 */
export function problemOf(address, port, { isInternal, pool, own, host, hub }) {
  if (own.has(address)) return 'is the forwarder itself';
  if (hub.backends.some(one => one.address === address && one.port === port))
    return 'is a service of the hub';
  if (host.has(address)) {
    if (hub.ports.includes(port)) return 'is the hub, or a service of it';
    if (!isInternal) return 'is an address of the machine of the hub';
  }
  return isIPv4(address)
    ? problemOfV4(address, isInternal, pool)
    : problemOfV6(address, isInternal);
}

function problemOfV4(address, isInternal, pool) {
  if (pool.check(address, 'ipv4')) return 'is an address of servers';
  const found = never.find(({ list }) => list.check(address, 'ipv4'));
  if (found) return found.why;
  return !isInternal && privateV4.check(address, 'ipv4') ? 'is a private address' : undefined;
}

function problemOfV6(address, isInternal) {
  if (metadataV6.check(address, 'ipv6')) return 'is a metadata address';
  if (privateV6.check(address, 'ipv6')) return isInternal ? undefined : 'is a private address';
  // All other addresses must be global. IPv4 addresses in IPv6 notation are not.
  const isGlobal = publicV6.check(address, 'ipv6') && !tunnelsV6.check(address, 'ipv6');
  return isGlobal ? undefined : 'is not a public address';
}

/** Parses the subnets of all servers, such as `10.0.0.0/16`, separated by spaces. */
export const poolOf = subnets => listOf('ipv4', subnets);

/**
 * Returns the server name of a TLS ClientHello, or the host of an HTTP request; undefined if the bytes contain none.
 */
export function nameInside(bytes) {
  if (bytes[0] !== 0x16) return hostOf(bytes.toString('latin1'));
  try {
    return serverNameOf(bytes);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function hostOf(text) {
  const [, host] =
    /^[A-Z]+ [^\r\n]+\r\n(?:[^\r\n]+\r\n)*?host:[ \t]*([^\r\n:]+)(?::\d+)?\r\n/i.exec(text) ?? [];
  return host === undefined ? undefined : nameOf(host.trim());
}

/** Parses a ClientHello (RFC 8446, 4.1.2; RFC 6066, 3) for the server name. Throws RangeError if it is incomplete. */
function serverNameOf(bytes) {
  // Skip the record header, the handshake header, the version and the random value.
  let at = 5 + 4 + 2 + 32;
  at += 1 + bytes.readUInt8(at);
  at += 2 + bytes.readUInt16BE(at);
  at += 1 + bytes.readUInt8(at);
  const end = at + 2 + bytes.readUInt16BE(at);
  at += 2;
  while (at < end) {
    const [type, length] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)];
    at += 4;
    // Extension 0 (server_name) is a list whose first entry is a host name: list length, type, length, name.
    if (type === 0) {
      const last = at + 5 + bytes.readUInt16BE(at + 3);
      return last > bytes.length ? undefined : nameOf(bytes.toString('latin1', at + 5, last));
    }
    at += length;
  }
  return undefined;
}
