import { type Clock, HubError } from '#core';
import type { Principal } from '#policy';
import {
  type Answer,
  type Era,
  type Request,
  type Span,
  RpcError,
  checkMetadata,
  isLogLevel,
  membersOf,
  metaKeys,
  modernVersion,
  rawText,
  rpcCodes,
  stringAt,
} from '#rpc';
import type { Leave, Server } from '#servers';
import type { Trace } from '#telemetry';
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
  /** Who sent the request. */
  readonly principal: Principal;
  readonly exchange: Exchange;
  /** Of the server that it is sent to; undefined before, and where it is sent to none. */
  leave: Leave | undefined;
  /** How much of its time has passed in the queue of that server. */
  waitedMs: number;
  /** The server has got it. */
  wasSent: boolean;
  /** The name of the server that it is for; undefined where the hub answers by itself. */
  server: string | undefined;
  /** The string in params that the hub has read last: what the request names, where its method names something. */
  named: string | undefined;
  /** What the server's answer says, the last one where it took several. */
  outcome: 'ok' | 'tool_error' | 'error';
  /** Since when the server has it, in milliseconds on the monotonic clock; `atHub` where it has not. */
  sentMs: number;
  /** How much of its time the server has had it until then. */
  serverMs: number;
  /** Where it stands among traces; undefined where the hub traces nothing. */
  trace: Trace | undefined;
  /** By which that is measured. */
  readonly clock: Pick<Clock, 'monotonic'>;
  /** What must see the answer, and the instance that it is of, before whatever comes after it. */
  seen: ((answer: Answer, instance: Server) => void) | undefined;
};

const none: Members = new Map();

/** No time on the monotonic clock. */
export const atHub = -1;

/** Methods that only the stateless revision has: without its metadata they are refused. */
const modernMethods = new Set(['server/discover', 'subscriptions/listen']);

/**
 * Reads what decides where a request goes. Throws HUB_REQUEST_INVALID where a member stands twice, and
 * what MCP 2026-07-28 asks for where its metadata is wanting.
 */
export function readCall(
  request: Request,
  session: SessionState,
  exchange: Exchange,
  principal: Principal,
  clock: Call['clock'],
): Call {
  const params = request.params ? membersOf(request.bytes, request.params) : none;
  if (!params) throw twice('"params"');
  const meta = metaOf(request, params);
  const era =
    meta?.has(metaKeys.protocolVersion) === true || modernMethods.has(request.method)
      ? 'modern'
      : 'legacy';
  if (era === 'modern') {
    const metadata = checkMetadata(request.bytes, meta);
    if (!metadata.valid) throw metadata.error;
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
    principal,
    exchange,
    flight: undefined,
    isCancelled: false,
    leave: undefined,
    waitedMs: 0,
    wasSent: false,
    server: undefined,
    named: undefined,
    outcome: 'ok',
    sentMs: atHub,
    serverMs: 0,
    trace: undefined,
    clock,
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

/** What a client may send before `initialize` (MCP, lifecycle). */
const beforeInitialize = new Set(['initialize', 'ping']);

/**
 * Throws HUB_REQUEST_INVALID where a client that opens a session has not said yet who it is: until then
 * it could only be taken for another.
 */
export function needInitialized({ era, request, session }: Call): void {
  if (session.client || era === 'modern' || session.isSessionless) return;
  if (beforeInitialize.has(request.method)) return;
  throw new RpcError(
    rpcCodes.invalidRequest,
    'HUB_REQUEST_INVALID',
    `${JSON.stringify(request.method)} came before "initialize". Send "initialize" first, or by each request the "params._meta" of MCP ${modernVersion}`,
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
  call: Call,
  members: Members | undefined,
  key: string,
  path: string,
): { readonly span: Span; readonly text: string } {
  const span = members?.get(key);
  const text = stringAt(call.request.bytes, span);
  if (!span || text === undefined)
    throw new HubError('HUB_REQUEST_INVALID', `"${path}" must be a string`);
  if (members === call.params) call.named = text;
  return { span, text };
}
