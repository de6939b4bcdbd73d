import { type Clock, isObject } from '#core';
import {
  type Answer,
  type Edit,
  type Span,
  membersOf,
  rawText,
  readAnswer,
  replace,
  rpcCodes,
  valueOf,
} from '#jsonrpc';
import { isStateless, keepsSessions } from '#mcp';
import { principalKey } from '#policy';
import type { Running, Server } from '#servers';
import { type Call, type Reply, type ResolvedCall, type ServerReply, FailedCall } from '../call.ts';
import { type UrlElicitations, keepPages } from '../events/ownership.ts';
import type { Subscriptions } from '../events/subscriptions.ts';
import { setWork, throwIfCancelled } from '../session.ts';
import { type Tasks, inPayload } from '../tasks/tasks.ts';
import { noteError } from '../trace.ts';
import { ownName } from './results.ts';

export type SendNeeds = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly urlElicitations: UrlElicitations;
  readonly tasks: Pick<Tasks, 'made' | 'route' | 'progress'>;
  readonly subscriptions: Pick<Subscriptions, 'add'>;
};

/**
 * Sends a request to the instance that serves the call. If the server refuses the headers, sends the request once
 * more: its tools require other headers than the hub knew (MCP 2026-07-28, `x-mcp-header`).
 */
export function send(
  resolved: ResolvedCall,
  edits: readonly Edit[],
  server: Server,
  running: Running,
  needs: SendNeeds,
  isRetry = false,
): Promise<ServerReply> {
  const { call } = resolved;
  const { request, session, responseStream } = call;
  const { clock } = needs;
  throwIfCancelled(call);
  const progressToken = call.meta?.get('progressToken');
  const sentMs = clock.monotonic();
  if (call.trace) call.trace.sentMs ??= sentMs;
  const relayed = running.upstream.relay(
    {
      request,
      edits,
      progressToken,
      answered: (answer, id) =>
        replyOf(resolved, answer, { server, running, id }, clock.monotonic() - sentMs, needs),
      failed: error => new FailedCall(error, clock.monotonic() - sentMs),
    },
    {
      owner: session,
      principal: call.principal,
      responseStream,
      progressToken: progressToken && rawText(request.bytes, progressToken),
    },
    server.config.callTimeoutMs,
    resolved.waitedMs,
  );
  setWork(call.cancellation, relayed);
  const isOverHttp = isStateless(running.serverInfo) && server.config.launch.kind === 'remote';
  if (isRetry || !isOverHttp || request.method !== 'tools/call') return relayed.answer;
  return relayed.answer.then(async first => {
    if (!isHeaderMismatch(first)) return first;
    await server.refresh('tool');
    return await send(resolved, edits, server, running, needs, true);
  });
}

function isHeaderMismatch({ outcome, bytes }: ServerReply): boolean {
  const error = outcome === 'error' ? valueOf(bytes, readAnswer(bytes).payload) : undefined;
  return isObject(error) && error['code'] === rpcCodes.headerMismatch;
}

/** The server to which a request was sent, and the hub's id of the request there. */
type Sent = { readonly server: Server; readonly running: Running; readonly id: number };

/** Converts an answer to the reply with the client's id, and records the task, pages or subscription in it. */
function replyOf(
  resolved: ResolvedCall,
  answer: Answer,
  { server, running, id }: Sent,
  serverMs: number,
  needs: SendNeeds,
): ServerReply {
  const { call } = resolved;
  const outcome = outcomeOf(call, answer);
  // An error may send the client to pages. Only this session is notified later that a page is complete.
  if (keepsSessions(running.serverInfo)) {
    if (answer.failed) keepPages(answer, server, call.session, needs.urlElicitations);
  } else if (outcome !== 'ok') adviseEra(answer, server);
  const task = resolved.remembered && remember(resolved, answer, server, needs);
  const token = resolved.remembered?.kind === 'task' && call.meta?.get('progressToken');
  if (task && token)
    needs.tasks.progress.follow(
      running.upstream,
      id,
      call.session,
      rawText(call.request.bytes, token),
      task,
    );
  const bytes = answer.id ? replace(answer.bytes, answer.id, call.id) : answer.bytes;
  // On the endpoint of one server, a client without a session uses the server's own task ids.
  const isRenamed = task && (call.session.endpoint === 'all' || keepsSessions(call));
  return {
    bytes: isRenamed ? inPayload(bytes, task.taskId, task.publicId) : bytes,
    outcome,
    serverMs,
  };
}

/** Returns the outcome of a call. Records an error code for the trace spans of the call. */
export function outcomeOf(call: Call, answer: Answer): Reply['outcome'] {
  if (answer.failed) {
    noteError(call, answer);
    return 'error';
  }
  return call.request.method === 'tools/call' && saysError(answer.bytes, answer.payload)
    ? 'tool_error'
    : 'ok';
}

/**
 * Records the task or subscription that a call created. Runs before the answer is delivered: messages about the task
 * or resource may follow immediately.
 */
function remember(
  { call, server: base, edits, remembered }: ResolvedCall,
  answer: Answer,
  instance: Server,
  { tasks, subscriptions }: SendNeeds,
) {
  const { session, cancellation } = call;
  switch (remembered?.kind) {
    case 'task':
      return tasks.made(base ?? instance, instance, answer, session, ownName(call, edits));
    case 'public_task':
      return tasks.route(
        base ?? instance,
        answer,
        principalKey(call.principal),
        ownName(call, edits),
      );
    case 'subscription':
      // A client that disconnected meanwhile would otherwise stay subscribed forever.
      if (!answer.failed && !cancellation.isCancelled)
        subscriptions.add(instance, remembered.uri, session, remembered.publicUri);
  }
  return undefined;
}

/** Errors of the official SDKs for server-to-client requests, which MCP 2026-07-28 does not have. */
const refusals = [
  // TypeScript: `elicitInput`, `requestSampling` and others; `server.request`; UrlElicitationRequiredError.
  'Server-to-client requests are not available on protocol revision',
  'is not supported by the negotiated protocol version (wire era',
  'cannot be signalled by throwing UrlElicitationRequiredError on protocol revision',
  // Python: `ctx.elicit`, `ctx.session.create_message` and others.
  'no back-channel for server-initiated requests',
];

/** Maximum number of bytes of an error that are searched for these messages. */
const maxSearchedErrorBytes = 16 * 1024;

const advice =
  'a call failed because the server sends requests to its client, which MCP 2026-07-28 does not have. Set "era": "legacy" in its entry, if it speaks MCP 2025-11-25 as well: then the hub passes such requests on to clients of every revision';

/** Advises the operator to set another era if an error is caused by the current era of the server. */
function adviseEra({ bytes, payload }: Answer, server: Server): void {
  const { start, end } = payload;
  const text = bytes.toString('latin1', start, Math.min(end, start + maxSearchedErrorBytes));
  if (refusals.some(refusal => text.includes(refusal))) server.advise(advice);
}

/**
 * Maximum size in bytes of a result that is parsed. In larger results, only the first and last `endBytes` are searched
 * as text.
 */
const maxParsedBytes = 64 * 1024;
const endBytes = 1024;

const flag = Buffer.from('"isError"');
/** A letter of `"isError"` that is rare in text, and its index. The search for one letter takes a fifth of the time. */
const letter = 0x45;
const letterAt = 3;
/** If the letter occurs more often than this, the search continues with the whole flag. */
const maxLetters = 8;

/**
 * True if the result of a tool reports an error. Searches the bytes for `"isError"`, and parses the JSON only if the
 * flag is present and true. In a result above 64 KiB, a nested `isError` within a kilobyte of either end counts as the
 * flag, and a flag in the middle is missed; servers do not write it there.
 */
export function saysError(bytes: Buffer, result: Span): boolean {
  const { start, end } = result;
  if (end - start <= maxParsedBytes)
    return isRaised(bytes, start, end) && isTrue(bytes, membersOf(bytes, result)?.get('isError'));
  return (
    isRaised(bytes.subarray(0, start + endBytes), start, start + endBytes) ||
    isRaised(bytes, end - endBytes, end)
  );
}

/** True if `"isError"` with the value true starts between `start` and `end`. */
function isRaised(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  for (let letters = 0; letters < maxLetters; letters++) {
    at = bytes.indexOf(letter, at);
    if (at < 0 || at >= end) return false;
    if (isTrueAfter(bytes, at - letterAt)) return true;
    at++;
  }
  for (at = bytes.indexOf(flag, at); at >= 0 && at < end; at = bytes.indexOf(flag, at + 1))
    if (isTrueAfter(bytes, at)) return true;
  return false;
}

/** True if `"isError"` starts at `at` and its value is true. */
function isTrueAfter(bytes: Buffer, at: number): boolean {
  for (let index = 0; index < flag.length; index++)
    if (bytes[at + index] !== flag[index]) return false;
  let value = at + flag.length;
  while (bytes[value] === 0x20 || bytes[value] === 0x3a || bytes[value] === 0x09) value++;
  return bytes[value] === 0x74;
}

/** `true` is the only JSON value that begins with this letter. */
const isTrue = (bytes: Buffer, span: Span | undefined) =>
  span !== undefined && bytes[span.start] === 0x74;
