import type { IncomingHttpHeaders } from 'node:http';
import {
  type Malformed,
  type Message,
  type Request,
  RpcError,
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
import type { Endpoint, Router } from '#routing';

/** Finds the metadata of a request without reading its other params; undefined if it cannot be read. */
function metadataOf(request: Request) {
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
  return headers[mcpHeaders.version] === modernVersion || messages.some(namesVersion);
}

/** Finds requests without the name of the member quickly, as most requests of a session are. */
function namesVersion(message: Message | Malformed): boolean {
  if (message.kind !== 'request' || !message.params) return false;
  const { bytes } = message;
  // A backslash can escape any character of the name.
  if (!bytes.includes(versionKey) && !bytes.includes(backslash)) return false;
  return metadataOf(message).meta?.has(metaKeys.protocolVersion) ?? false;
}

/**
 * Checks what MCP 2026-07-28 requires of a request over HTTP: a version, the client's capabilities, and headers that
 * agree with the body, because proxies route by the headers. The check returns the error, if any.
 */
export function createRequestCheck(router: Pick<Router, 'describeTool'>) {
  /** Keyed by the description, which the catalog keeps until the tool changes. */
  const declared = new WeakMap<Buffer, readonly ParamHeader[]>();

  function declaredBy(name: string | undefined, endpoint: Endpoint): readonly ParamHeader[] {
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

  return (headers: IncomingHttpHeaders, request: Request, endpoint: Endpoint) => {
    const { bytes } = request;
    const { params, meta } = metadataOf(request);
    if (request.params && !params)
      return new RpcError(
        rpcCodes.invalidParams,
        'HUB_REQUEST_INVALID',
        'a member of "params" stands twice',
      );
    const metadata = checkMetadata(bytes, meta);
    const { version } = metadata;
    const said = headers[mcpHeaders.version];
    if (version !== undefined && said !== version)
      return mismatch(
        `the header MCP-Protocol-Version is ${said === undefined ? 'missing' : JSON.stringify(said)}: it must repeat params._meta, ${JSON.stringify(version)}`,
      );
    if (!metadata.valid) return metadata.error;
    const called =
      request.method === 'tools/call' ? stringAt(bytes, params?.get('name')) : undefined;
    const problem = headerMismatch(headers, request, params, declaredBy(called, endpoint));
    return problem === undefined ? undefined : mismatch(problem);
  };
}

const none: readonly ParamHeader[] = [];
const versionKey = Buffer.from(metaKeys.protocolVersion);
const backslash = 0x5c;

const mismatch = (message: string) =>
  new RpcError(rpcCodes.headerMismatch, 'HUB_HEADER_MISMATCH', message);
