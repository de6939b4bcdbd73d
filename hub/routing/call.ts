import { type Code, HubError } from '#core';
import {
  type Edit,
  type ReplyBytes,
  type Request,
  type Span,
  RpcError,
  createLookalikes,
  membersOf,
  rawText,
  rpcCodes,
  stringAt,
} from '#jsonrpc';
import {
  type Era,
  type LogLevel,
  checkMetadata,
  isLogLevel,
  metaKeys,
  modernVersion,
  nameMember,
} from '#mcp';
import type { Decision, Principal, UsedItem } from '#policy';
import type { Server } from '#servers';
import type { Trace } from '#telemetry';
import type { ResponseStream } from '#upstream';
import { type Cancellation, type SessionState, createCancellation } from './session.ts';

/** The spans of an object's members, by name. */
export type MemberSpans = ReadonlyMap<string, Span>;

/** A request of a client. */
export type Call = {
  readonly request: Request;
  /** The id that the client gave the request, as JSON text. */
  readonly id: string;
  /** The era of MCP that the client speaks, as stated in each request. */
  readonly era: Era;
  readonly params: MemberSpans;
  /** The members of `params._meta`; undefined if there is none. */
  readonly meta: MemberSpans | undefined;
  /** The log level in a request of the stateless revision; undefined for all other requests. */
  readonly logLevel: LogLevel | 'none' | undefined;
  readonly session: SessionState;
  readonly principal: Principal;
  readonly responseStream: ResponseStream;
  readonly cancellation: Cancellation;
  /** Arrival time, in milliseconds on the monotonic clock. */
  readonly arrivedMs: number;
  /** The place of the request in a trace; undefined if tracing is off. */
  readonly trace: Trace | undefined;
};

/** A task or subscription that a call creates and the hub records. The id of a `public_task` alone gives access. */
type Remembered =
  | { readonly kind: 'task' | 'public_task' }
  | { readonly kind: 'subscription'; readonly uri: string; readonly publicUri: string };

/** Changes of a request on its way to the server, and of the answer on its way back. */
type Relaying = {
  /** The tool, prompt, URI or task that the request names, as the client wrote it. */
  readonly name: string | undefined;
  /** Replacements in the request, such as the server's own name for a tool. */
  readonly edits: readonly Edit[];
  readonly remembered: Remembered | undefined;
  /** Puts the client's names into the answer of the server. */
  readonly restored: ((answer: Buffer) => Buffer) | undefined;
};

/** A call whose destination is decided. */
export type ResolvedCall = Relaying & {
  readonly call: Call;
  /** The server that the call is for; undefined if the hub answers it. */
  readonly server: Server | undefined;
  /** The instance that works on the call, once the call is admitted; undefined if it is the server itself. */
  readonly instance: Server | undefined;
  /** Time that the call waited for admission, in milliseconds. */
  readonly waitedMs: number;
  /** The hub's own answer. Absent: the call is relayed to the server. */
  readonly answer: (() => Reply | Promise<Reply>) | undefined;
  /** The decision of the policy, made before the first step; absent if no rule matches the call. */
  readonly decision?: Decision;
  /** The tool whose call a person has to approve; absent if the call needs no approval. */
  readonly confirmed?: { readonly decision: Decision; readonly item: UsedItem };
  /** Digest of the server's entry when a person approved the call; absent for calls that need no approval. */
  readonly approvedEntry?: string;
};

/** Answers a call, or passes it to the next step. */
export type Step = (call: ResolvedCall, next: Answerer) => Reply | Promise<Reply>;
export type Answerer = (call: ResolvedCall) => Reply | Promise<Reply>;

/** Notification that a call of an agent waits for a person. If a server sends it, the hub does not forward it. */
export const waitingMethod = 'notifications/agenthub/waiting';

export const noEdits: readonly Edit[] = [];

/** Resolves a call to a server, which answers it. */
export const callTo = (
  server: Server | undefined,
  call: Call,
  { edits = noEdits, name = nameIn(call), remembered, restored }: Partial<Relaying> = {},
): ResolvedCall => ({
  call,
  server,
  instance: undefined,
  name,
  edits,
  remembered,
  restored,
  waitedMs: 0,
  answer: undefined,
});

/** Resolves a call that the hub answers, possibly with data that it requests from `server`. */
export const ownCall = (
  call: Call,
  answer: NonNullable<ResolvedCall['answer']>,
  server?: Server,
): ResolvedCall => ({ ...callTo(server, call), answer });

const none: MemberSpans = new Map();

/** Methods of the stateless revision only. A request for one without the `_meta` of that revision is refused. */
const modernMethods = new Set(['server/discover', 'subscriptions/listen']);

/**
 * Reads the members that decide the destination of a request. Throws HUB_REQUEST_INVALID if a member is duplicated,
 * and the error of MCP 2026-07-28 if its metadata is incomplete. With `isRefused`, reads only what the answer to such
 * a request needs, and does not throw.
 */
export function readCall(
  request: Request,
  session: SessionState,
  responseStream: ResponseStream,
  principal: Principal,
  arrivedMs: number,
  isRefused = false,
): Call {
  const params = request.params ? membersOf(request.bytes, request.params) : none;
  if (!params && !isRefused) throw duplicated('"params"');
  const meta = params && !isRefused ? metaOf(request, params) : undefined;
  const unlike = params && !isRefused ? lookalikeIn(request, params, meta) : undefined;
  if (unlike !== undefined) throw invalidRequest(unlike);
  const isModern =
    meta?.has(metaKeys.protocolVersion) || (!isRefused && modernMethods.has(request.method));
  return {
    request,
    id: rawText(request.bytes, request.id),
    era: isModern ? 'modern' : 'legacy',
    params: params ?? none,
    meta,
    logLevel: isModern ? requestedLevel(request, meta) : undefined,
    session,
    principal,
    responseStream,
    cancellation: createCancellation(),
    arrivedMs,
    trace: undefined,
  };
}

function requestedLevel({ bytes }: Request, meta: MemberSpans | undefined): LogLevel | 'none' {
  const { error } = checkMetadata(bytes, meta);
  if (error) throw error;
  const level = stringAt(bytes, meta?.get(metaKeys.logLevel));
  return isLogLevel(level) ? level : 'none';
}

/** Maximum size in bytes of a progress token. It is kept as long as a task, and written into each notification. */
const maxTokenBytes = 1_024;
function metaOf(request: Request, params: MemberSpans): MemberSpans | undefined {
  const span = params.get('_meta');
  // A `_meta` that is not an object is forwarded; the server validates it.
  if (!span || request.bytes[span.start] !== 0x7b) return undefined;
  const meta = membersOf(request.bytes, span);
  if (!meta) throw duplicated('"params._meta"');
  const { start = 0, end = 0 } = meta.get('progressToken') ?? {};
  if (end - start > maxTokenBytes)
    throw invalidRequest(
      `"params._meta.progressToken" has ${end - start} bytes, and the hub takes at most ${maxTokenBytes}. Write a number, or a shorter text`,
    );
  return meta;
}

/** Methods of MCP whose params the hub reads. */
const ofMcp = /^(?:completion|prompts|resources|tasks|tools)\//;

/** Members of a request that decide where it goes and whether it is allowed, by the object that contains them. */
const lookalikes = {
  params: createLookalikes([
    '_meta',
    'arguments',
    'inputResponses',
    'name',
    'ref',
    'requestState',
    'task',
    'taskId',
    'uri',
  ]),
  'params.ref': createLookalikes(['name', 'type', 'uri']),
  'params._meta': createLookalikes(['progressToken', ...Object.values(metaKeys)]),
};

/**
 * Returns the error for a member such as `Name` that a server may read as `name`, which the hub reads. Undefined if
 * there is none.
 */
export function lookalikeIn(
  { bytes, method }: Request,
  params: MemberSpans,
  meta: MemberSpans | undefined,
): string | undefined {
  return (
    findLookalike(params, 'params', method) ??
    findLookalike(meta, 'params._meta', method) ??
    findLookalike(membersOf(bytes, params.get('ref')), 'params.ref', method)
  );
}

function findLookalike(
  members: MemberSpans | undefined,
  where: keyof typeof lookalikes,
  method: string,
): string | undefined {
  for (const name of members?.keys() ?? []) {
    const meant = lookalikes[where](name);
    if (meant !== undefined && ofMcp.test(method))
      return `${JSON.stringify(`${where}.${name}`)} is not "${meant}", and some servers take it for that: write "${meant}"`;
  }
  return undefined;
}

const duplicated = (where: string) => invalidRequest(`a member of ${where} stands twice`);

/** Throws HUB_REQUEST_INVALID if a client with a session has not sent `initialize` (MCP, lifecycle). */
export function requireInitialized({ logLevel, request: { method }, session }: Call): void {
  if (session.client || logLevel !== undefined || session.isSessionless) return;
  if (method === 'initialize' || method === 'ping') return;
  throw new RpcError(
    rpcCodes.invalidRequest,
    'HUB_REQUEST_INVALID',
    `${JSON.stringify(method)} came before "initialize". Send "initialize" first, or by each request the "params._meta" of MCP ${modernVersion}`,
  );
}

/** Returns the string at `key` of these members. Throws HUB_REQUEST_INVALID if the value is not a string. */
export function requireString(
  call: Call,
  members: MemberSpans | undefined,
  key: string,
  path: string,
): { readonly span: Span; readonly text: string } {
  const span = members?.get(key);
  const text = stringAt(call.request.bytes, span);
  if (!span || text === undefined) throw invalidRequest(`"${path}" must be a string`);
  return { span, text };
}

/** Returns the name in a request; undefined if its method has none, or if the name is not a string. */
function nameIn({ request, params }: Call): string | undefined {
  const member = nameMember(request.method);
  return member === undefined ? undefined : stringAt(request.bytes, params.get(member));
}

export type Reply = {
  /** The whole JSON-RPC answer with the client's id. */
  readonly bytes: ReplyBytes;
  /** `tool_error`: a result with `isError`. `error`: an error of the server. A code: an error of the hub. */
  readonly outcome: 'ok' | 'tool_error' | 'error' | Code;
  /** Time that servers worked on the request, in milliseconds. */
  readonly serverMs: number;
  /** The decision about the call, if it was made only after the steps began. */
  readonly decision?: Decision;
};

export type ServerReply = Reply & { readonly bytes: Buffer };

export const hubReply = (bytes: ReplyBytes): Reply => ({ bytes, outcome: 'ok', serverMs: 0 });

export const invalidRequest = (message: string): HubError =>
  new HubError('HUB_REQUEST_INVALID', message);

/** Returns the error for a method that the hub does not support. */
export const methodNotFound = (message: string): RpcError =>
  new RpcError(rpcCodes.methodNotFound, 'HUB_REQUEST_INVALID', message);

/** A request that failed after it was sent to a server. Steps read this error; clients get `error`. */
export class FailedCall extends Error {
  readonly error: unknown;
  readonly serverMs: number;

  constructor(error: unknown, serverMs: number) {
    super('the call failed at its server', { cause: error });
    this.error = error;
    this.serverMs = serverMs;
  }
}
