import { isIPv4, isIPv6 } from 'node:net';

const loopbackHosts = ['localhost', '[::1]'];
/** Addresses that stand for every address of the machine. No client asks for them by name. */
const wildcards = ['0.0.0.0', '::'];

/** Returns a check of the Host header: whether this hub may be asked by it. */
export function createOwnHosts(options: {
  readonly host: string;
  readonly allowedHosts: readonly string[];
}): (host: string) => boolean {
  const hosts = new Set([
    ...loopbackHosts,
    ...(wildcards.includes(options.host) ? [] : [hostHeaderOf(options.host)]),
    ...options.allowedHosts.map(host => host.toLowerCase()),
  ]);
  /** The own host that was asked for last: nearly all requests ask for the same one. */
  let last = 'localhost';
  return host => {
    if (host === last) return true;
    const name = host.toLowerCase().replace(/:\d+$/, '');
    // All of 127.0.0.0/8 is this machine (RFC 1122, section 3.2.1.3).
    const isOwn = hosts.has(name) || (name.startsWith('127.') && isIPv4(name));
    if (isOwn) last = host;
    return isOwn;
  };
}

/**
 * The host in a request target of absolute form, such as `http://localhost:9090/mcp`; undefined for any other form,
 * empty where the target has a scheme and no readable host.
 */
export function hostOfTarget(target: string): string | undefined {
  if (target.startsWith('/') || !/^[a-z][a-z\d+.-]*:/i.test(target)) return undefined;
  return URL.canParse(target) ? new URL(target).host : '';
}

/** An address as clients write it in Host: IPv6 in brackets, in its short form and without its zone. */
function hostHeaderOf(host: string): string {
  if (!isIPv6(host)) return host.toLowerCase();
  return new URL(`http://[${host.replace(/%.*/, '')}]`).hostname;
}
