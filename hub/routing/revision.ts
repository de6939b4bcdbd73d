import { isStateless, latestVersion, modernVersion } from '#mcp';
import type { Call } from './call.ts';
import type { SessionState } from './session.ts';

/** Returns the revision of MCP in which lists are sent to the client of a call. */
export const revisionOf = (
  call: Pick<Call, 'era'> & { readonly session: Pick<SessionState, 'protocolVersion'> },
): string => (isStateless(call) ? modernVersion : (call.session.protocolVersion ?? latestVersion));
