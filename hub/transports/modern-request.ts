import type { IncomingHttpHeaders } from 'node:http';
import {
  type Malformed,
  type Message,
  type Request,
  RpcError,
  type Span,
  membersOf,
  rpcCodes,
  stringAt,
} from '#jsonrpc';
import {
  type ParamHeader,
  checkMetadata,
  headerMismatch,
  mcpHeaders,
  metaKeys,
  modernVersion,
  readParamHeaders,
} from '#mcp';
import type { Router, View } from '#routing';

/** What a request says about itself, as members by name; undefined where it says nothing readable. */
export type Claim = {
  readonly params: ReadonlyMap<string, Span> | undefined;
  readonly meta: ReadonlyMap<string, Span> | undefined;
};

/** Reads where the metadata of a request stands. The rest of its params is stepped over. */
export function claimOf(request: Request): Claim {
  const params = membersOf(request.bytes, request.params);
  return { params, meta: membersOf(request.bytes, params?.get('_meta')) };
}

/**
 * Whether a POST is of the stateless revision: its header says so, or a request in it claims a version of
 * its own. A session that it names as well is not looked at, as that revision has none: what decides how
 * a request is read decides that its headers are checked.
 */
export function isModern(
  headers: IncomingHttpHeaders,
  messages: readonly (Message | Malformed)[],
): boolean {
  return headers[mcpHeaders.version] === modernVersion || messages.some(claimsVersion);
}

/** Most requests of a session have no such name anywhere, so that they are not read for it. */
function claimsVersion(message: Message | Malformed): boolean {
  if (message.kind !== 'request' || !message.params) return false;
  const { bytes } = message;
  // With a backslash any name can be written in other bytes.
  if (!bytes.includes(versionKey) && !bytes.includes(backslash)) return false;
  return claimOf(message).meta?.has(metaKeys.protocolVersion) ?? false;
}

/** Why a request cannot be taken; undefined where it can. */
export type RequestCheck = (
  headers: IncomingHttpHeaders,
  request: Request,
  claim: Claim,
  view: View,
) => RpcError | undefined;

/**
 * Checks what MCP 2026-07-28 asks of a request over HTTP: that it tells its version and what its client
 * can do, and that its headers say the same as its body, so that whoever routes by the headers and
 * whoever reads the body never take it for two different things.
 */
export function createRequestCheck(router: Pick<Router, 'describeTool'>): RequestCheck {
  /** By the description they were read from, which the catalog keeps until the tool changes. */
  const declared = new WeakMap<Buffer, readonly ParamHeader[]>();

  function declaredBy(request: Request, claim: Claim, view: View): readonly ParamHeader[] {
    if (request.method !== 'tools/call') return none;
    const name = stringAt(request.bytes, claim.params?.get('name'));
    const tool = name === undefined ? undefined : router.describeTool(view, name);
    if (!tool) return none;
    const known = declared.get(tool);
    if (known) return known;
    const read = readParamHeaders(tool);
    // Clients do not show a tool that declares wrongly: there is nothing to expect of them.
    const headers = read.valid ? read.headers : none;
    declared.set(tool, headers);
    return headers;
  }

  return (headers, request, claim, view) => {
    const { bytes } = request;
    if (request.params && !claim.params)
      return new RpcError(
        rpcCodes.invalidParams,
        'HUB_REQUEST_INVALID',
        'a member of "params" stands twice',
      );
    const metadata = checkMetadata(bytes, claim.meta);
    const { version } = metadata;
    const said = headers[mcpHeaders.version];
    if (version !== undefined && said !== version)
      return mismatch(
        `the header MCP-Protocol-Version is ${said === undefined ? 'missing' : JSON.stringify(said)}: it must repeat params._meta, ${JSON.stringify(version)}`,
      );
    if (!metadata.valid) return metadata.error;
    const problem = headerMismatch(
      headers,
      request,
      claim.params,
      declaredBy(request, claim, view),
    );
    return problem === undefined ? undefined : mismatch(problem);
  };
}

const none: readonly ParamHeader[] = [];
const versionKey = Buffer.from(metaKeys.protocolVersion);
const backslash = 0x5c;

const mismatch = (message: string) =>
  new RpcError(rpcCodes.headerMismatch, 'HUB_HEADER_MISMATCH', message);
