import { isObject } from '#core';
import { type Answer, encodeError, rpcCodes, valueOf } from '#rpc';

/** The error by which a server says that a person must visit a page first (MCP 2025-11-25, elicitation). */
const urlElicitationRequired = -32042;

/**
 * The pages that an error asks to be visited, as the `inputRequests` of MCP 2026-07-28; undefined for
 * every other answer.
 */
export function pagesWanted({ failed, bytes, payload }: Answer): object | undefined {
  const error: unknown = failed ? valueOf(bytes, payload) : undefined;
  if (!isObject(error) || error['code'] !== urlElicitationRequired) return undefined;
  const { data } = error;
  const listed: unknown = isObject(data) ? data['elicitations'] : undefined;
  const pages: unknown[] = Array.isArray(listed) ? listed : [];
  return Object.fromEntries(
    pages
      .filter(isObject)
      .map(({ message, url }, index) => [
        String(index + 1),
        { method: 'elicitation/create', params: { mode: 'url', message, url } },
      ]),
  );
}

/** What a client is told that cannot show pages (MCP 2026-07-28, errors). */
export function needsPages(id: string): Buffer {
  return encodeError(
    id,
    rpcCodes.missingCapability,
    'the server wants a page to be visited, which the client has not declared to be able to ask for',
    { code: 'HUB_CAPABILITY_MISSING', requiredCapabilities: { elicitation: { url: {} } } },
  );
}
