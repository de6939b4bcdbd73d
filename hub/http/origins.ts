import type { IncomingHttpHeaders } from 'node:http';
import type { GuardedRequest, Refusal } from './guarded-request.ts';

/**
 * Refuses requests of pages that are neither the hub's own nor of an allowed origin. Pages of other loopback
 * origins are foreign too: any program of any user can serve one.
 *
 * A browser names the page's origin in Origin, which it sends with every upgrade and with every request that changes
 * something, and tells the relation in Sec-Fetch-Site. A request without both is not a browser's.
 */
export function createOrigins(
  allowedOrigins: readonly string[],
): (request: GuardedRequest) => Refusal | undefined {
  const allowed = new Set(allowedOrigins.map(origin => origin.toLowerCase()));
  return request => {
    const { headers } = request;
    const { origin } = headers;
    if (origin === undefined)
      return isOfForeignPage(request)
        ? {
            status: 403,
            message: `Sec-Fetch-Site is ${JSON.stringify(headers['sec-fetch-site'])}: pages of other origins may not call this hub without an Origin. Fetch it with CORS, from an origin of ROUTER_ALLOWED_ORIGINS`,
          }
        : undefined;
    const isOwn = isOwnPage(origin, headers);
    if (!isOwn && !allowed.has(origin.toLowerCase()))
      return {
        status: 403,
        message: `Origin ${JSON.stringify(origin)} may not call this hub. Add it to ROUTER_ALLOWED_ORIGINS if it should, also where it is another port of this machine`,
      };
    // The dashboard's forms are for its own pages.
    return isOwn && request.takesForms ? undefined : refuseType(request);
  };
}

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
function isOfForeignPage({ method, headers }: GuardedRequest): boolean {
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
function refuseType({ method, headers }: GuardedRequest): Refusal | undefined {
  if (!withBody.has(method)) return undefined;
  const type = headers['content-type'] ?? '';
  if (/^application\/json *(?:;|$)/i.test(type)) return undefined;
  return {
    status: 415,
    message: `Content-Type is ${JSON.stringify(type)}: requests with an Origin must send "Content-Type: application/json"`,
  };
}
