import { isLoopback } from '#core';

/** Maximum length of a redirect address that can be registered. */
const maxChars = 300;

/** Allowed redirect addresses with a private-use scheme. Their clients register only these addresses. */
const ofApps: ReadonlySet<string> = new Set(['cursor://anysphere.cursor-mcp/oauth/callback']);

/**
 * True if a program on this machine may register this redirect address: http on loopback (RFC 8252, section 7.3), or a
 * known private-use scheme. Any other address could send the authorization code to another machine.
 */
export function isLocalRedirect(address: string): boolean {
  if (address.length > maxChars || !/^[\x21-\x7e]+$/.test(address)) return false;
  return ofApps.has(address) || loopbackUrl(address) !== undefined;
}

/** True if a redirect address is registered. Loopback addresses may have any port (RFC 8252, section 7.3). */
export const isRegistered = (address: string, registered: readonly string[]): boolean =>
  isLocalRedirect(address) &&
  (registered.includes(address) ||
    registered.some(one => {
      const [mine, theirs] = [loopbackUrl(one), loopbackUrl(address)];
      return (
        mine !== undefined && theirs !== undefined && withoutPort(mine) === withoutPort(theirs)
      );
    }));

function loopbackUrl(address: string): URL | undefined {
  const url = URL.parse(address);
  if (!url || url.protocol !== 'http:' || !isLoopback(url.hostname)) return undefined;
  return url.username === '' && url.password === '' && !address.includes('#') ? url : undefined;
}

function withoutPort(url: URL): string {
  return `${url.hostname}${url.pathname}${url.search}`;
}
