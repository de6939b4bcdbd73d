import { type Era, latestVersion, modernVersion } from '#mcp';
import type { Server } from '#servers';

/** A client's request or the handshake result of a server. */
type Side = { readonly era: Era };

/** True if each message of this side is self-contained (MCP 2026-07-28). */
export const isStateless = (side: Side | undefined): boolean => side?.era === 'modern';

/** True if this side has sessions (MCP 2025-11-25 and older). */
export const keepsSessions = (side: Side | undefined): boolean => side?.era === 'legacy';

/** The revision in which lists are sent to the client of a call. */
export const revisionOf = (
  call: Side & { readonly session: { readonly protocolVersion: string | undefined } },
): string => (isStateless(call) ? modernVersion : (call.session.protocolVersion ?? latestVersion));

/** True if a running remote server may speak both eras: it answered in the newer one, and its entry names none. */
export const maySpeakBoth = ({ config: { era, launch }, running }: Server): boolean =>
  era === 'auto' &&
  launch.kind === 'remote' &&
  launch.transport === 'http' &&
  isStateless(running?.serverInfo);
