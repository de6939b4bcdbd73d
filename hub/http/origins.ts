import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

/** Parts of a request's head that name the host and the web page of the request. */
export type RequestOrigin = {
  readonly method: string;
  /** The request target as the client sent it. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** Number of Host headers. Node's `headers` contain only the first. */
  readonly hostCount: number;
  /**
   * Whose pages may send HTML forms to the route: the hub's own to the dashboard, and allowed origins to
   * `/oauth/token`.
   */
  readonly takesForms: false | 'own' | 'allowed';
};

export type GuardRefusal = {
  readonly status: 400 | 401 | 403 | 415;
  readonly message: string;
  /** True if the connection ended before the hub found its user. Such a refusal is not audited. */
  readonly isPeerGone?: boolean;
};

/** Host names of the hub, and origins that may call it. */
export type OriginOptions = {
  /** The name or IP address on which the hub listens, IPv6 without brackets. */
  readonly host: string;
  /** Host names that clients may use for the hub, in addition to loopback names. */
  readonly allowedHosts: readonly string[];
  /** Origins whose pages may call the hub, in addition to its own. */
  readonly allowedOrigins: readonly string[];
};

/**
 * Refuses requests to other hosts, and from pages that are neither the hub's own nor of an allowed origin. Pages of
 * other loopback origins are foreign too: any program of any user can serve one. A browser sends the page's origin in
 * Origin, with every upgrade and every request that changes something, and the relation to it in Sec-Fetch-Site. A
 * request without both headers is not from a browser.
 */
export function createOrigins(options: OriginOptions) {
  const isOwnHost = createOwnHosts(options);
  const allowed = new Set(options.allowedOrigins.map(origin => origin.toLowerCase()));

  function refuseHost({ hostCount, target, headers }: RequestOrigin): GuardRefusal | undefined {
    if (hostCount > 1)
      return refusal(400, `the request has ${hostCount} Host headers. Send exactly one`);
    const inTarget = hostOfTarget(target);
    const host = headers.host ?? '';
    if (inTarget !== undefined && !isOwnHost(inTarget))
      return refusal(
        400,
        `the request target names the host ${JSON.stringify(inTarget)}, which is not this hub. Send the path only`,
      );
    if (isOwnHost(host)) return undefined;
    return refusal(
      403,
      `Host ${JSON.stringify(host)} is not this hub. Use localhost, or add the name to ROUTER_ALLOWED_HOSTS`,
    );
  }

  function refusePage(request: RequestOrigin): GuardRefusal | undefined {
    const { headers } = request;
    const { origin } = headers;
    if (origin === undefined)
      return isOfForeignPage(request)
        ? refusal(
            403,
            `Sec-Fetch-Site is ${JSON.stringify(headers['sec-fetch-site'])}: pages of other origins may not call this hub without an Origin. Fetch it with CORS, from an origin of ROUTER_ALLOWED_ORIGINS`,
          )
        : undefined;
    const isOwn = isOwnPage(origin, headers);
    if (!isOwn && !allowed.has(origin.toLowerCase()))
      return refusal(
        403,
        `Origin ${JSON.stringify(origin)} may not call this hub. Add it to ROUTER_ALLOWED_ORIGINS if it should, also where it is another port of this machine`,
      );
    // The dashboard accepts forms only from its own pages.
    const { takesForms } = request;
    return takesForms === 'allowed' || (isOwn && takesForms === 'own')
      ? undefined
      : refuseType(request);
  }

  return (request: RequestOrigin) => refuseHost(request) ?? refusePage(request);
}

const refusal = (status: GuardRefusal['status'], message: string): GuardRefusal => ({
  status,
  message,
});

/** True for a page of the hub itself. Ignores the scheme, which is unknown behind a proxy that terminates TLS. */
function isOwnPage(origin: string, headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  if (site !== 'same-origin' && site !== 'none') return false;
  const match = /^https?:\/\/([^/?#@]+)$/i.exec(origin);
  return match?.[1]?.toLowerCase() === headers.host?.toLowerCase();
}

/**
 * True for a browser request for a page of another origin without Origin header: an image or a frame sends none, and
 * could open a stream. Following a link to the hub is allowed.
 */
function isOfForeignPage({ method, headers }: RequestOrigin): boolean {
  const site = headers['sec-fetch-site'] ?? 'none';
  if (site === 'none' || site === 'same-origin') return false;
  const isFollowed =
    method === 'GET' &&
    headers['sec-fetch-mode'] === 'navigate' &&
    headers['sec-fetch-dest'] === 'document';
  return !isFollowed;
}

/** Methods that browsers send across origins without a preflight, if the content type is one of HTML forms. */
const withBody = new Set(['POST', 'PUT', 'PATCH']);

/** Refuses content types other than JSON: for JSON, a browser sends a preflight before a request across origins. */
function refuseType({ method, headers }: RequestOrigin): GuardRefusal | undefined {
  if (!withBody.has(method)) return undefined;
  const type = headers['content-type'] ?? '';
  if (/^application\/json *(?:;|$)/i.test(type)) return undefined;
  return refusal(
    415,
    `Content-Type is ${JSON.stringify(type)}: requests with an Origin must send "Content-Type: application/json"`,
  );
}

const loopbackHosts = ['localhost', '[::1]'];
/** Addresses that mean every address of the machine. No client uses them as a host name. */
const wildcards = ['0.0.0.0', '::'];

/** Creates the check of a Host header: true if it names this hub. */
export function createOwnHosts(options: Pick<OriginOptions, 'host' | 'allowedHosts'>) {
  const hosts = new Set([
    ...loopbackHosts,
    ...(wildcards.includes(options.host) ? [] : [hostHeaderOf(options.host)]),
    ...options.allowedHosts.map(host => host.toLowerCase()),
  ]);
  /** The last valid header. Nearly all requests have the same one. */
  let last = 'localhost';
  return (host: string): boolean => {
    if (host === last) return true;
    const name = host.toLowerCase().replace(/:\d+$/, '');
    // All of 127.0.0.0/8 is this machine (RFC 1122, section 3.2.1.3).
    const isOwn = hosts.has(name) || (name.startsWith('127.') && isIPv4(name));
    if (isOwn) last = host;
    return isOwn;
  };
}

/**
 * Returns the host in a request target of absolute form, such as `http://localhost:9090/mcp`; undefined for any other
 * form, and an empty string if the host is unreadable.
 */
export function hostOfTarget(target: string): string | undefined {
  if (target.startsWith('/') || !/^[a-z][a-z\d+.-]*:/i.test(target)) return undefined;
  return URL.canParse(target) ? new URL(target).host : '';
}

/** Formats an address as in a Host header: IPv6 in brackets, in its short form and without its zone. */
function hostHeaderOf(host: string): string {
  if (!isIPv6(host)) return host.toLowerCase();
  return new URL(`http://[${host.replace(/%.*/, '')}]`).hostname;
}
