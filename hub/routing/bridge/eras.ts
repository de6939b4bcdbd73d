import { type Era, latestVersion, modernVersion } from '#mcp';

/** A client's request or the introduction of a server. */
type Side = { readonly era: Era };

/** Whether each message of this side stands alone (MCP 2026-07-28). */
export const isStateless = (side: Side | undefined): boolean => side?.era === 'modern';

/** Whether this side keeps sessions (MCP 2025-11-25 and older). */
export const keepsSessions = (side: Side | undefined): boolean => side?.era === 'legacy';

/** The revision in which a client reads lists. */
export const revisionOf = (
  call: Side & { readonly session: { readonly protocolVersion: string | undefined } },
): string => (isStateless(call) ? modernVersion : (call.session.protocolVersion ?? latestVersion));
