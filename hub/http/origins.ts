import type { IncomingHttpHeaders } from 'node:http';
import { isIPv4, isIPv6 } from 'node:net';

/** The head of a request: the name by which it calls the hub, and the page that sent it. */
export type RequestOrigin = {
  readonly method: string;
  /** The request target as the client sent it. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  /** The number of Host headers: Node's `headers` show the first only. */
  readonly hostCount: number;
  /** Whose pages may send HTML forms to the route: the hub's own to the dashboard, those of allowed origins to `/oauth/token`. */
  readonly takesForms: false | 'own' | 'allowed';
};

export type GuardRefusal = { readonly status: 400 | 401 | 403 | 415; readonly message: string };

/** The names of the hub, and the pages that may call it. */
export type OriginOptions = {
  /** Where the hub listens: a name or an IP address, IPv6 without brackets. */
  readonly host: string;
  /** Host names besides the loopback ones by which clients may reach the hub. */
  readonly allowedHosts: readonly string[];
  /** Origins besides the hub's own whose pages may call it. */
  readonly allowedOrigins: readonly string[];
};

/**
 * Refuses requests to other hosts, and of pages that are neither the hub's own nor of an allowed origin. Pages of other
 * loopback origins are foreign too: any program of any user can serve one.
 *
 * A browser names the page's origin in Origin, which it sends with every upgrade and with every request that changes
 * something, and tells the relation in Sec-Fetch-Site. A request without both is not a browser's.
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
    // The dashboard's forms are for its own pages.
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

/** A page of the hub itself. Whether it was loaded by TLS is not known behind a proxy that ends TLS. */
function isOwnPage(origin: string, headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'] ?? 'same-origin';
  if (site !== 'same-origin' && site !== 'none') return false;
  const match = /^https?:\/\/([^/?#@]+)$/i.exec(origin);
  return match?.[1]?.toLowerCase() === headers.host?.toLowerCase();
}

/**
 * Whether a browser asks on behalf of a page of another origin without naming it: an image or a frame has no
 * Origin, and could open a stream. Following a link to the hub is allowed.
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

/** Methods that browsers send across origins without asking first, given one of the types of HTML forms. */
const withBody = new Set(['POST', 'PUT', 'PATCH']);

/** With JSON as the only type, a browser asks (CORS preflight) before it sends for a page of another origin. */
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
/** Addresses that stand for every address of the machine. No client uses them as a name. */
const wildcards = ['0.0.0.0', '::'];

/** Checks a Host header: true if it names this hub. */
export function createOwnHosts(options: Pick<OriginOptions, 'host' | 'allowedHosts'>) {
  const hosts = new Set([
    ...loopbackHosts,
    ...(wildcards.includes(options.host) ? [] : [hostHeaderOf(options.host)]),
    ...options.allowedHosts.map(host => host.toLowerCase()),
  ]);
  /** The last valid header: nearly all requests have the same one. */
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
