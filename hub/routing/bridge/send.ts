import { type Clock, isObject } from '#core';
import { type Answer, type Edit, rawText, readMessage, replace, rpcCodes, valueOf } from '#jsonrpc';
import type { Running, Server } from '#servers';
import { isStateless, keepsSessions } from './eras.ts';
import { type Call, type ResolvedCall, FailedCall, type Reply, type ServerReply } from '../call.ts';
import { setWork, throwIfCancelled } from '../session.ts';
import { adviseEra } from './era-advice.ts';
import { saysError } from './says-error.ts';
import type { Subscriptions } from '../events/subscriptions.ts';
import { inPayload } from '../tasks/task-messages.ts';
import type { Tasks } from '../tasks/tasks.ts';
import { noteError } from '../trace.ts';
import { type UrlElicitations, keepPages } from '../events/url-elicitations.ts';

export type SendNeeds = {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly urlElicitations: UrlElicitations;
  readonly tasks: Pick<Tasks, 'made' | 'route'>;
  readonly subscriptions: Pick<Subscriptions, 'add'>;
};

/**
 * Sends a request to the instance that serves the call. If the server refuses the headers, the request is sent once
 * more: the tools of the server require other headers than the hub knew (MCP 2026-07-28, `x-mcp-header`).
 */
export function send(
  resolved: ResolvedCall,
  edits: readonly Edit[],
  server: Server,
  running: Running,
  needs: SendNeeds,
): Promise<ServerReply> {
  const reply = sendOnce(resolved, edits, server, running, needs);
  const isOverHttp = isStateless(running.serverInfo) && server.config.launch.kind === 'remote';
  if (!isOverHttp || resolved.call.request.method !== 'tools/call') return reply;
  return reply.then(async first => {
    if (!isHeaderMismatch(first)) return first;
    await server.refresh('tool');
    return await sendOnce(resolved, edits, server, running, needs);
  });
}

function isHeaderMismatch({ outcome, bytes }: ServerReply): boolean {
  const error = outcome === 'error' ? valueOf(bytes, readAnswer(bytes).payload) : undefined;
  return isObject(error) && error['code'] === rpcCodes.headerMismatch;
}

function sendOnce(
  resolved: ResolvedCall,
  edits: readonly Edit[],
  server: Server,
  running: Running,
  needs: SendNeeds,
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
      answered: answer =>
        replyOf(resolved, answer, server, running, clock.monotonic() - sentMs, needs),
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
  return relayed.answer;
}

/** Makes the reply from an answer, with the client's id, and stores what the hub must remember from it. */
function replyOf(
  resolved: ResolvedCall,
  answer: Answer,
  server: Server,
  { serverInfo }: Running,
  serverMs: number,
  needs: SendNeeds,
): ServerReply {
  const { call } = resolved;
  const outcome = outcomeOf(call, answer);
  // Errors may name pages. Only this session is told later that a page is complete.
  if (keepsSessions(serverInfo)) {
    if (answer.failed) keepPages(answer, server, call.session, needs.urlElicitations);
  } else if (outcome !== 'ok') adviseEra(answer, server);
  const task = resolved.remembered && remember(resolved, answer, server, needs);
  const bytes = answer.id ? replace(answer.bytes, answer.id, call.id) : answer.bytes;
  return { bytes: task ? inPayload(bytes, task.taskId, task.publicId) : bytes, outcome, serverMs };
}

/** The outcome of a call. Notes an error code for the trace spans of the call. */
export function outcomeOf(call: Call, answer: Answer): Reply['outcome'] {
  if (answer.failed) {
    noteError(call, answer);
    return 'error';
  }
  return call.request.method === 'tools/call' && saysError(answer.bytes, answer.payload)
    ? 'tool_error'
    : 'ok';
}

/** Runs before the answer is delivered: messages about the task or resource may follow immediately. */
function remember(
  { call, server: base, remembered }: ResolvedCall,
  answer: Answer,
  instance: Server,
  { tasks, subscriptions }: SendNeeds,
) {
  const { session, cancellation } = call;
  switch (remembered?.kind) {
    case 'task':
      return tasks.made(base ?? instance, instance, answer, session);
    case 'public_task':
      return tasks.route(base ?? instance, answer);
    case 'subscription':
      // A client that disconnected meanwhile would otherwise stay subscribed forever.
      if (!answer.failed && !cancellation.isCancelled)
        subscriptions.add(instance, remembered.uri, session, remembered.publicUri);
  }
  return undefined;
}

/** Parses an answer. Throws a TypeError if the message is not an answer, which is a bug. */
export function readAnswer(bytes: Buffer): Answer {
  const message = readMessage(bytes);
  if (message.kind !== 'answer') throw new TypeError('an answer was expected');
  return message;
}
