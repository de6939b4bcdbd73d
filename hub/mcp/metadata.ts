import {
  type Edit,
  type Members,
  type Request,
  RpcError,
  type Span,
  rpcCodes,
  setMembers,
  stringAt,
} from '#jsonrpc';
import { metaKeys, modernVersion, modernVersions } from './protocol.ts';

/**
 * Validates the members of `params._meta` of a request of MCP 2026-07-28: a revision without sessions and the client's
 * capabilities are required. `version`: the requested revision, which the hub may not support.
 */
export function checkMetadata(
  bytes: Buffer,
  meta: ReadonlyMap<string, Span> | undefined,
): { readonly version: string | undefined; readonly error: RpcError | undefined } {
  const version = stringAt(bytes, meta?.get(metaKeys.protocolVersion));
  return { version, error: errorOf(version, bytes, meta?.get(metaKeys.clientCapabilities)) };
}

function errorOf(version: string | undefined, bytes: Buffer, capabilities: Span | undefined) {
  if (version === undefined)
    return incomplete(metaKeys.protocolVersion, `a string such as "${modernVersion}"`);
  if (!modernVersions.some(known => known === version))
    return new RpcError(
      rpcCodes.unsupportedVersion,
      'HUB_VERSION_UNSUPPORTED',
      `MCP ${JSON.stringify(version)} is not spoken without a session; ${modernVersions.join(', ')} is, and older revisions are after initialize`,
      { supported: modernVersions, requested: version },
    );
  if (!capabilities || bytes[capabilities.start] !== openingBrace)
    return incomplete(metaKeys.clientCapabilities, 'an object, which may be empty');
  return undefined;
}

const openingBrace = 0x7b;

const incomplete = (key: string, wanted: string) =>
  new RpcError(
    rpcCodes.invalidParams,
    'HUB_REQUEST_INVALID',
    `"params._meta" must have "${key}", ${wanted}: every request tells it`,
  );

/**
 * Returns edits that add members to `_meta` of the params or of a list item, and `more` beside it. Replaces an invalid
 * `_meta`.
 */
export function metaEdits(
  { bytes, params: span }: Pick<Request, 'bytes' | 'params'>,
  params: ReadonlyMap<string, Span>,
  meta: ReadonlyMap<string, Span> | undefined,
  members: Members,
  more?: Members,
): readonly Edit[] {
  const metaSpan = params.get('_meta');
  if (span && metaSpan && meta) {
    const edits = setMembers(metaSpan, meta, members);
    return more ? [...setMembers(span, params, more), ...edits] : edits;
  }
  const added = { ...more, _meta: objectText(members) };
  if (span) return setMembers(span, params, added);
  const end = bytes.lastIndexOf('}');
  return [{ span: { start: end, end }, text: `,"params":${objectText(added)}` }];
}

const objectText = (members: Members): string =>
  `{${Object.entries(members)
    .map(([name, text]) => `${JSON.stringify(name)}:${text}`)
    .join(',')}}`;
