import type { Answer } from '#jsonrpc';
import type { Server } from '#servers';

/** Errors of the official SDKs for server-to-client requests, which MCP 2026-07-28 does not have. */
const refusals = [
  // TypeScript: `elicitInput`, `requestSampling` and others; `server.request`; UrlElicitationRequiredError.
  'Server-to-client requests are not available on protocol revision',
  'is not supported by the negotiated protocol version (wire era',
  'cannot be signalled by throwing UrlElicitationRequiredError on protocol revision',
  // Python: `ctx.elicit`, `ctx.session.create_message` and others.
  'no back-channel for server-initiated requests',
];

/** Maximum number of bytes of an error that are searched. */
const maxSearchedBytes = 16 * 1024;

const advice =
  'a call failed because the server sends requests to its client, which MCP 2026-07-28 does not have. Set "era": "legacy" in its entry, if it speaks MCP 2025-11-25 as well: then the hub passes such requests on to clients of every revision';

/** Advises the operator to set another era if an error is caused by the current era of the server. */
export function adviseEra({ bytes, payload }: Answer, server: Server): void {
  const { start, end } = payload;
  const text = bytes.toString('latin1', start, Math.min(end, start + maxSearchedBytes));
  if (refusals.some(refusal => text.includes(refusal))) server.advise(advice);
}
