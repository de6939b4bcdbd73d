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
import type { Router, Endpoint } from '#routing';

/** The metadata of a request, as members by name; undefined if it has none or it cannot be read. */
export type Claim = {
  readonly params: ReadonlyMap<string, Span> | undefined;
  readonly meta: ReadonlyMap<string, Span> | undefined;
};

/** Finds the metadata of a request without reading its other params. */
export function claimOf(request: Request): Claim {
  const params = membersOf(request.bytes, request.params);
  return { params, meta: membersOf(request.bytes, params?.get('_meta')) };
}

/**
 * Whether a POST is of the stateless revision: its header says so, or one of its requests names a version. A session
 * id in it is ignored, because that revision has no sessions.
 */
export function isModern(
  headers: IncomingHttpHeaders,
  messages: readonly (Message | Malformed)[],
): boolean {
  return headers[mcpHeaders.version] === modernVersion || messages.some(claimsVersion);
}

/** Finds requests without the name of the member quickly, as most requests of a session are. */
function claimsVersion(message: Message | Malformed): boolean {
  if (message.kind !== 'request' || !message.params) return false;
  const { bytes } = message;
  // A backslash can escape any character of the name.
  if (!bytes.includes(versionKey) && !bytes.includes(backslash)) return false;
  return claimOf(message).meta?.has(metaKeys.protocolVersion) ?? false;
}

/** Why a request is refused; undefined if it is not. */
export type RequestCheck = (
  headers: IncomingHttpHeaders,
  request: Request,
  claim: Claim,
  endpoint: Endpoint,
) => RpcError | undefined;

/**
 * Checks what MCP 2026-07-28 requires of a request over HTTP: a version, the client's capabilities, and headers that
 * agree with the body, because proxies route by the headers.
 */
export function createRequestCheck(router: Pick<Router, 'describeTool'>): RequestCheck {
  /** Keyed by the description, which the catalog keeps until the tool changes. */
  const declared = new WeakMap<Buffer, readonly ParamHeader[]>();

  function declaredBy(request: Request, claim: Claim, endpoint: Endpoint): readonly ParamHeader[] {
    if (request.method !== 'tools/call') return none;
    const name = stringAt(request.bytes, claim.params?.get('name'));
    const tool = name === undefined ? undefined : router.describeTool(endpoint, name);
    if (!tool) return none;
    const known = declared.get(tool);
    if (known) return known;
    const read = readParamHeaders(tool);
    // Clients ignore a tool with an invalid declaration, so they send no headers for it.
    const headers = read.valid ? read.headers : none;
    declared.set(tool, headers);
    return headers;
  }

  return (headers, request, claim, endpoint) => {
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
      declaredBy(request, claim, endpoint),
    );
    return problem === undefined ? undefined : mismatch(problem);
  };
}

const none: readonly ParamHeader[] = [];
const versionKey = Buffer.from(metaKeys.protocolVersion);
const backslash = 0x5c;

const mismatch = (message: string) =>
  new RpcError(rpcCodes.headerMismatch, 'HUB_HEADER_MISMATCH', message);
