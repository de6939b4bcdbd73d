import { HubError } from '#core';
import {
  type Answer,
  type Era,
  type Request,
  type Span,
  RpcError,
  isLogLevel,
  membersOf,
  metaKeys,
  modernVersion,
  modernVersions,
  rawText,
  rpcCodes,
  stringAt,
} from '#rpc';
import type { Exchange, Flying, SessionState } from './session.ts';

/** The members of an object, by name. */
export type Members = ReadonlyMap<string, Span>;

/** One request of a client, as it is being answered. */
export type Call = Flying & {
  readonly request: Request;
  /** The client's id as JSON text. */
  readonly id: string;
  /** How the client speaks, which each request tells. */
  readonly era: Era;
  readonly params: Members;
  /** The members of `params._meta`; undefined where there is none. */
  readonly meta: Members | undefined;
  readonly session: SessionState;
  readonly exchange: Exchange;
  /** What must see the server's answer before whatever comes after it. */
  seen: ((answer: Answer) => void) | undefined;
};

const none: Members = new Map();

/** Methods that only the stateless revision has: without its metadata they are refused. */
const modernMethods = new Set(['server/discover', 'subscriptions/listen']);

/**
 * Reads what decides where a request goes. Throws HUB_REQUEST_INVALID where a member stands twice, and
 * what MCP 2026-07-28 asks for where its metadata is wanting.
 */
export function readCall(request: Request, session: SessionState, exchange: Exchange): Call {
  const params = request.params ? membersOf(request.bytes, request.params) : none;
  if (!params) throw twice('"params"');
  const meta = metaOf(request, params);
  const era =
    meta?.has(metaKeys.protocolVersion) === true || modernMethods.has(request.method)
      ? 'modern'
      : 'legacy';
  if (era === 'modern') {
    checkMetadata(request, meta);
    const level = stringAt(request.bytes, meta?.get(metaKeys.logLevel));
    session.requestLevel = isLogLevel(level) ? level : 'none';
  }
  const id = rawText(request.bytes, request.id);
  return {
    request,
    id,
    era,
    params,
    meta,
    session,
    exchange,
    flight: undefined,
    isCancelled: false,
    seen: undefined,
  };
}

function metaOf(request: Request, params: Members): Members | undefined {
  const span = params.get('_meta');
  // What is no object holds nothing, and is the server's to refuse.
  if (!span || request.bytes[span.start] !== 0x7b) return undefined;
  const meta = membersOf(request.bytes, span);
  if (!meta) throw twice('"params._meta"');
  return meta;
}

const twice = (where: string) =>
  new HubError('HUB_REQUEST_INVALID', `a member of ${where} stands twice`);

/** Every request says by which revision it is to be read, and what its client can do. */
function checkMetadata({ bytes }: Request, meta: Members | undefined): void {
  const requested = stringAt(bytes, meta?.get(metaKeys.protocolVersion));
  if (requested === undefined)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `"params._meta" must have "${metaKeys.protocolVersion}", a string such as "${modernVersion}"`,
    );
  if (requested !== modernVersion)
    throw new RpcError(
      rpcCodes.unsupportedVersion,
      'HUB_VERSION_UNSUPPORTED',
      `MCP ${JSON.stringify(requested)} is not spoken without a session; ${modernVersions.join(', ')} is`,
      { supported: modernVersions, requested },
    );
  const capabilities = meta?.get(metaKeys.clientCapabilities);
  if (!capabilities || bytes[capabilities.start] !== 0x7b)
    throw new HubError(
      'HUB_REQUEST_INVALID',
      `"params._meta" must have "${metaKeys.clientCapabilities}", an object`,
    );
}

/** Tells whatever works on the call that nobody waits, and whatever will. */
export function cancelCall(call: Flying, reason: string | undefined): void {
  call.isCancelled = true;
  call.flight?.cancel(reason);
}

/** Throws HUB_CALL_CANCELLED where nobody waits any more: to be asked after each wait. */
export function needWanted({ isCancelled, request }: Call): void {
  if (isCancelled)
    throw new HubError('HUB_CALL_CANCELLED', `the client cancelled ${request.method}`);
}

/** The string under a key of params. Throws HUB_REQUEST_INVALID where it is none. */
export function needString(
  { request }: Call,
  members: Members | undefined,
  key: string,
  path: string,
): { readonly span: Span; readonly text: string } {
  const span = members?.get(key);
  const text = stringAt(request.bytes, span);
  if (!span || text === undefined)
    throw new HubError('HUB_REQUEST_INVALID', `"${path}" must be a string`);
  return { span, text };
}
