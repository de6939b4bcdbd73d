import { timingSafeEqual, createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

export type GuardOptions = {
  /** Where the hub listens: a name or an IP address, IPv6 without brackets. */
  readonly host: string;
  /** Host names besides the loopback ones by which clients may reach the hub. */
  readonly allowedHosts: readonly string[];
  /** Origins besides loopback ones from which pages may call the hub. */
  readonly allowedOrigins: readonly string[];
  /** The bearer token that every request must carry, where one is set. */
  readonly token: string | undefined;
};

/** Why a request is not let in. */
export type Refusal = { readonly status: 401 | 403; readonly message: string };

const loopbackHosts = ['localhost', '[::1]'];
/** Every address of the machine, and the name of none. */
const wildcards = ['0.0.0.0', '::'];

/**
 * Decides who may speak to the hub, before anything else is done: a page on the web may reach a local
 * port by a name of its own that resolves to 127.0.0.1 (DNS rebinding), so Host and Origin must be
 * names of this machine (MCP 2025-11-25, transports, security warning).
 */
export function createGuard(
  options: GuardOptions,
): (request: Pick<IncomingMessage, 'headers'>) => Refusal | undefined {
  const hosts = new Set([
    ...loopbackHosts,
    ...(wildcards.includes(options.host) ? [] : [hostHeaderOf(options.host)]),
    ...options.allowedHosts.map(host => host.toLowerCase()),
  ]);
  const origins = new Set(options.allowedOrigins.map(origin => origin.toLowerCase()));
  const expected = options.token === undefined ? undefined : digest(`Bearer ${options.token}`);

  function isOwnHost(host: string): boolean {
    const name = host.toLowerCase().replace(/:\d+$/, '');
    // All of 127.0.0.0/8 is this machine (RFC 1122, section 3.2.1.3).
    return hosts.has(name) || (name.startsWith('127.') && isIPv4(name));
  }

  function isOwnOrigin(origin: string): boolean {
    if (origins.has(origin.toLowerCase())) return true;
    const match = /^https?:\/\/([^/]+)$/i.exec(origin);
    return match?.[1] !== undefined && isOwnHost(match[1]);
  }

  return ({ headers }) => {
    const host = headers.host ?? '';
    if (!isOwnHost(host))
      return {
        status: 403,
        message: `Host ${JSON.stringify(host)} is not this hub. Use localhost, or add the name to ROUTER_ALLOWED_HOSTS`,
      };
    if (headers.origin !== undefined && !isOwnOrigin(headers.origin))
      return {
        status: 403,
        message: `Origin ${JSON.stringify(headers.origin)} may not call this hub. Add it to ROUTER_ALLOWED_ORIGINS if it should`,
      };
    if (headers.origin === undefined && isOfForeignPage(headers))
      return {
        status: 403,
        message:
          'Sec-Fetch-Site is "cross-site": pages of other sites may not call this hub without an Origin. Fetch it with CORS, from an origin of ROUTER_ALLOWED_ORIGINS',
      };
    if (expected && !timingSafeEqual(digest(credentialsOf(headers)), expected))
      return { status: 401, message: 'Authorization must be "Bearer" and the hub\'s token' };
    return undefined;
  };
}

/**
 * Whether a browser asks on behalf of a page of another site that does not say which: an image or a frame
 * of it has no Origin, and would open a stream all the same. Someone may follow a link to the hub.
 */
function isOfForeignPage(headers: IncomingMessage['headers']): boolean {
  const isFollowed =
    headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  return headers['sec-fetch-site'] === 'cross-site' && !isFollowed;
}

/** An address as clients write it in Host: IPv6 in brackets, in its short form and without its zone. */
function hostHeaderOf(host: string): string {
  if (!isIPv6(host)) return host.toLowerCase();
  return new URL(`http://[${host.replace(/%.*/, '')}]`).hostname;
}

/** The header with its scheme, whose case does not matter (RFC 9110, section 11.1), in ours. */
const credentialsOf = ({ authorization = '' }: IncomingMessage['headers']) =>
  authorization.replace(/^bearer +/i, 'Bearer ');

/** Equal lengths, so that the comparison tells nothing of the token. */
const digest = (text: string) => createHash('sha256').update(text).digest();
