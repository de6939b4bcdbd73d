import { RpcError, type Span, rpcCodes, stringAt } from '#jsonrpc';
import { metaKeys, modernVersion, modernVersions } from './protocol.ts';

/** Result of reading the metadata of a request: its revision, or the error. */
export type Metadata =
  | { readonly valid: true; readonly version: string }
  | {
      readonly valid: false;
      readonly error: RpcError;
      /** The requested revision, if the hub does not support it without a session. */
      readonly version: string | undefined;
    };

/**
 * Validates the members of `params._meta` of a request of MCP 2026-07-28: a revision without sessions and the client's
 * capabilities are required.
 */
export function checkMetadata(
  bytes: Buffer,
  meta: ReadonlyMap<string, Span> | undefined,
): Metadata {
  const version = stringAt(bytes, meta?.get(metaKeys.protocolVersion));
  const refused = (error: RpcError): Metadata => ({ valid: false, error, version });
  if (version === undefined)
    return refused(incomplete(metaKeys.protocolVersion, `a string such as "${modernVersion}"`));
  if (!modernVersions.some(known => known === version))
    return refused(
      new RpcError(
        rpcCodes.unsupportedVersion,
        'HUB_VERSION_UNSUPPORTED',
        `MCP ${JSON.stringify(version)} is not spoken without a session; ${modernVersions.join(', ')} is, and older revisions are after initialize`,
        { supported: modernVersions, requested: version },
      ),
    );
  const capabilities = meta?.get(metaKeys.clientCapabilities);
  if (!capabilities || bytes[capabilities.start] !== openingBrace)
    return refused(incomplete(metaKeys.clientCapabilities, 'an object, which may be empty'));
  return { valid: true, version };
}

const openingBrace = 0x7b;

const incomplete = (key: string, wanted: string) =>
  new RpcError(
    rpcCodes.invalidParams,
    'HUB_REQUEST_INVALID',
    `"params._meta" must have "${key}", ${wanted}: every request tells it`,
  );
