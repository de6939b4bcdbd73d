import { RpcError, type Span, rpcCodes, stringAt } from '#jsonrpc';
import { metaKeys, modernVersion, modernVersions } from './protocol.ts';

/** What the metadata of a request tells: by which revision it is to be read, or why it cannot be. */
export type Metadata =
  | { readonly valid: true; readonly version: string }
  | {
      readonly valid: false;
      readonly error: RpcError;
      /** What it asks for, where it is a revision that the hub does not speak in this way. */
      readonly version: string | undefined;
    };

/**
 * Checks `params._meta` of a request of MCP 2026-07-28, whose members are given: it must tell the
 * revision, one that is spoken without a session, and what its client can do.
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
