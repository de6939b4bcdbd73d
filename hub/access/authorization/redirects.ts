/** Longer ones are not registered. */
const maxChars = 300;

/** Redirect addresses with a scheme of their own, of clients that register no others. */
const ofApps: ReadonlySet<string> = new Set(['cursor://anysphere.cursor-mcp/oauth/callback']);

/**
 * Whether a program on this machine can have this redirect address: on loopback by http (RFC 8252, section 7.3), or one of
 * the known schemes. Any other address would send the code of a login somewhere else.
 */
export function isLocalRedirect(address: string): boolean {
  if (address.length > maxChars || !/^[\x21-\x7e]+$/.test(address)) return false;
  return ofApps.has(address) || loopbackUrl(address) !== undefined;
}

/** Whether an address is a registered one. Loopback addresses may have any port (RFC 8252, section 7.3). */
export const isRegistered = (address: string, registered: readonly string[]): boolean =>
  isLocalRedirect(address) &&
  (registered.includes(address) ||
    registered.some(one => {
      const [mine, theirs] = [loopbackUrl(one), loopbackUrl(address)];
      return (
        mine !== undefined && theirs !== undefined && withoutPort(mine) === withoutPort(theirs)
      );
    }));

/** Whether a host name is this machine, with IPv6 in brackets. */
export const isLoopback = (hostname: string): boolean =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname);

function loopbackUrl(address: string): URL | undefined {
  const url = URL.parse(address);
  if (!url || url.protocol !== 'http:' || !isLoopback(url.hostname)) return undefined;
  return url.username === '' && url.password === '' && !address.includes('#') ? url : undefined;
}

function withoutPort(url: URL): string {
  return `${url.hostname}${url.pathname}${url.search}`;
}
