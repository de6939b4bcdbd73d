import type { IncomingHttpHeaders } from 'node:http';
import type { Router, View } from '#routing';
import {
  type Malformed,
  type Message,
  type ParamHeader,
  type Request,
  type Span,
  RpcError,
  headerMismatch,
  isKnownVersion,
  mcpHeaders,
  membersOf,
  metaKeys,
  modernVersion,
  modernVersions,
  readParamHeaders,
  rpcCodes,
  stringAt,
} from '#rpc';

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
 * Whether a POST is of the stateless revision: its header says so, or its request claims a version of
 * its own. Within a session nothing is claimed, so that the usual call is not read for it.
 */
export function isModern(
  headers: IncomingHttpHeaders,
  batch: boolean,
  message: Message | Malformed | undefined,
): boolean {
  const version = headers[mcpHeaders.version];
  if (version === modernVersion) return true;
  const isInSession = headers[mcpHeaders.session] !== undefined;
  if (isInSession && (version === undefined || isKnownVersion(version))) return false;
  if (batch || message?.kind !== 'request') return false;
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
    const requested = stringAt(bytes, claim.meta?.get(metaKeys.protocolVersion));
    if (requested === undefined) return incomplete(metaKeys.protocolVersion, 'a revision of MCP');
    const said = headers[mcpHeaders.version];
    if (said !== requested)
      return mismatch(
        `the header MCP-Protocol-Version is ${said === undefined ? 'missing' : JSON.stringify(said)}: it must repeat params._meta, ${JSON.stringify(requested)}`,
      );
    if (!modernVersions.some(version => version === requested))
      return new RpcError(
        rpcCodes.unsupportedVersion,
        'HUB_VERSION_UNSUPPORTED',
        `the protocol version is ${JSON.stringify(requested)}; the hub speaks ${modernVersions.join(', ')} and, after initialize, older ones`,
        { supported: modernVersions, requested },
      );
    const capabilities = claim.meta?.get(metaKeys.clientCapabilities);
    if (!capabilities || bytes[capabilities.start] !== openingBrace)
      return incomplete(metaKeys.clientCapabilities, 'an object, which may be empty');
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
const openingBrace = 0x7b;

const mismatch = (message: string) =>
  new RpcError(rpcCodes.headerMismatch, 'HUB_HEADER_MISMATCH', message);

const incomplete = (key: string, wanted: string) =>
  new RpcError(
    rpcCodes.invalidParams,
    'HUB_REQUEST_INVALID',
    `params._meta[${JSON.stringify(key)}] must be ${wanted}: every request tells it`,
  );
