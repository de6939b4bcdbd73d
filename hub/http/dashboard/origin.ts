import type { IncomingHttpHeaders } from 'node:http';

/**
 * Whether a request that changes something comes from a page of the hub itself, or from no page at all. A
 * browser says so in Sec-Fetch-Site, an older one by the Origin; what sends neither is no browser, and
 * nobody's page can have it sent (as CrossOriginProtection of Go's net/http decides).
 */
export function isFromHere(headers: IncomingHttpHeaders): boolean {
  const site = headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  if (headers.origin === undefined) return true;
  // Whether it was TLS is not known behind a proxy that ends it.
  return URL.canParse(headers.origin) && new URL(headers.origin).host === headers.host;
}
