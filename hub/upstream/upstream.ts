import { type Clock, type HubError, type Log, messageOf } from '#core';
import {
  type Answer,
  type Channel,
  type Message,
  type Notification,
  type Request,
  encodeCall,
  encodeResult,
  errorAnswer,
  membersOf,
  rawText,
  splice,
} from '#jsonrpc';
import { cancelled, refusedBy, timedOut, tooLong } from './call-errors.ts';
import type { LimitedLog } from './limited-log.ts';
import type { Pace } from './pace.ts';
import { createCallTimer, createPendingRequests } from './pending-requests.ts';
import type {
  Caller,
  Outbound,
  Owner,
  ServerNotification,
  ServerRequest,
  Upstream,
} from './upstream-types.ts';

type UpstreamOptions = {
  readonly server: string;
  /** Request ids start above this value, if the channel has already carried requests of another sender. */
  readonly firstId?: number;
};

type UpstreamNeeds = {
  readonly clock: Pick<Clock, 'after'>;
  readonly log: Log;
  /** Log for lines that the server can trigger at will. */
  readonly output: LimitedLog;
  /** Receives the server's notifications, except `notifications/progress` about a pending request. */
  readonly notified: (notification: ServerNotification) => void;
  /** Receives the server's requests except `ping`, which the upstream answers. */
  readonly serverRequest: (serverRequest: ServerRequest) => void;
  /** Receives output of the server that is not a message. */
  readonly noise?: ((text: string) => void) | undefined;
  /** Counts messages that answer no request. If absent, their rate is not limited. */
  readonly pace?: Pace;
};

/** Time in ms for the server to answer the `ping` after a cancellation. */
const knowsMs = 10_000;

/**
 * Number of bytes of a late answer that count as one byte of output. Late answers count less, because a client that left
 * causes them, not the server.
 */
const lateBytesPerByte = 16;

/** Pairs answers with requests by the hub's own ids, and restores each client's id. */
export function createUpstream(
  options: UpstreamOptions,
  channel: Channel,
  needs: UpstreamNeeds,
): Upstream {
  const { server } = options;
  const { clock } = needs;
  const pending = createPendingRequests(clock, options.firstId);
  let over: HubError | undefined;
  const ended = new AbortController();
  /** True if a call has timed out since the server's last message. */
  let isSilent = false;
  let onlyOwner: Owner | 'none' | 'several' = 'none';
  let relayed = 0;

  function begin(
    method: string,
    caller: Caller | undefined,
    timeoutMs: number | undefined,
    settle: (answer: Answer) => void,
    reject: (error: HubError) => void,
    waitedMs = 0,
  ): number {
    if (over) throw over;
    const timeout =
      timeoutMs === undefined
        ? undefined
        : createCallTimer(clock, () => expire(id, timeoutMs), timeoutMs, waitedMs);
    const id = pending.add({ method, caller, timeout, settle, reject });
    return id;
  }

  function expire(id: number, timeoutMs: number): void {
    const entry = pending.find(id);
    if (!entry) return;
    const { method, caller } = entry;
    if (caller?.owner.hasOpenRequest) {
      entry.timeout?.refresh();
      return;
    }
    pending.take(id);
    // The protocol forbids cancelling `initialize`. The hub stops the server instead.
    if (method !== 'initialize') abandon(id, caller, 'the call timed out');
    if (caller) isSilent = true;
    // The sender of a hub request reports its timeout itself.
    if (caller) needs.log.warn({ method, timeoutMs }, 'a call timed out');
    entry.reject(timedOut(server, method, timeoutMs));
  }

  /** Sends the message of a request. Removes the request if the channel rejects the message. */
  function send(id: number, bytes: Buffer): void {
    try {
      channel.send(bytes);
    } catch (error) {
      pending.take(id);
      throw error;
    }
  }

  /** Cancels a request on the server, because its answer is no longer needed. */
  function abandon(id: number, caller: Caller | undefined, reason: string | undefined): void {
    tell(encodeCall(undefined, 'notifications/cancelled', { requestId: id, reason }));
    if (!caller || over) return;
    pending.abandon(id, caller.owner);
    // If each request has its own stream, the answer to a ping says nothing about this request.
    if (channel.tellsWhose) return;
    // The answer to this ping shows that the server has read the cancellation.
    const knows = () => pending.forget(id);
    tell(encodeCall(begin('ping', undefined, knowsMs, knows, knows), 'ping'));
  }

  /** Cancels a request that is pending, here and at the server. */
  function cancel(id: number, reason: string | undefined): void {
    const entry = pending.take(id);
    if (!entry) return;
    abandon(id, entry.caller, reason);
    entry.reject(cancelled(server, entry.method, reason));
  }

  async function ask(
    method: string,
    params: object | undefined,
    timeoutMs: number,
  ): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const id = begin(method, undefined, timeoutMs, resolve, reject);
    send(id, encodeCall(id, method, params));
    const answer = await promise;
    if (!answer.failed) return answer;
    throw refusedBy(server, method, answer);
  }

  function answered(answer: Answer): void {
    const id = answer.id ? Number(rawText(answer.bytes, answer.id)) : NaN;
    const entry = pending.take(id);
    if (entry) {
      entry.settle(answer);
      return;
    }
    needs.pace?.count(answer.bytes.length / lateBytesPerByte);
    pending.forget(id);
    if (answer.failed)
      needs.output.warn(
        { answer: answer.bytes.toString('utf8', 0, 500) },
        'the server reported an error that answers no request',
      );
    else needs.log.debug({ id }, 'the server answered a request that is not pending');
  }

  /** Sends an answer or a notification to the server. A failure is only logged, as the server may be gone already. */
  function tell(bytes: Buffer): void {
    try {
      channel.send(bytes);
    } catch (error) {
      needs.log.debug({ error: messageOf(error) }, 'a message could not be sent to the server');
    }
  }

  function receiveRequest(request: Request, id: string | undefined): void {
    const requestId = rawText(request.bytes, request.id);
    if (request.method === 'ping') tell(encodeResult(requestId, '{}'));
    else if (over) tell(errorAnswer(requestId, over));
    else {
      const about = pending.aboutOf(id);
      needs.serverRequest({ request, connection: upstream, about, answer: tell, tell });
    }
  }

  const copied = (copies: number) => needs.pace?.countCopies(copies);

  function notified(notification: Notification, id: string | undefined): void {
    const about = pending.aboutOf(id);
    needs.notified({
      ...notification,
      connection: upstream,
      ...(about !== undefined && { about }),
      ...(needs.pace && { copied }),
    });
  }

  function progressed(notification: Notification, id: string | undefined): void {
    const token = membersOf(notification.bytes, notification.params)?.get('progressToken');
    const entry = token && pending.find(Number(rawText(notification.bytes, token)));
    // The request may have been answered with a task.
    if (!entry) return notified(notification, id);
    if (entry.caller?.progressToken === undefined) return;
    // A call that makes progress does not time out.
    entry.timeout?.refresh();
    const { responseStream, progressToken } = entry.caller;
    responseStream.send(splice(notification.bytes, [{ span: token, text: progressToken }]));
  }

  const upstream: Upstream = {
    relay<T>(outbound: Outbound<T>, caller: Caller, timeoutMs: number, waitedMs?: number) {
      const { request, edits, progressToken } = outbound;
      const { promise, resolve, reject } = Promise.withResolvers<T>();
      const id = begin(
        request.method,
        caller,
        timeoutMs,
        answer => resolve(outbound.answered(answer, id)),
        error => reject(outbound.failed(error)),
        waitedMs,
      );
      relayed++;
      if (onlyOwner === 'none') onlyOwner = caller.owner;
      else if (onlyOwner !== caller.owner) onlyOwner = 'several';
      const text = String(id);
      const own = { span: request.id, text };
      send(
        id,
        splice(
          request.bytes,
          progressToken ? [own, { span: progressToken, text }, ...edits] : [own, ...edits],
        ),
      );
      return { answer: promise, cancel: reason => cancel(id, reason) };
    },

    request: ask,
    isAtWork: () => !isSilent && pending.callCount > 0,

    listen(params) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      const method = 'subscriptions/listen';
      const id = begin(method, undefined, undefined, resolve, reject);
      send(id, encodeCall(id, method, params));
      return { id, over: promise, cancel: reason => cancel(id, reason) };
    },

    notify: (method, params) => channel.send(encodeCall(undefined, method, params)),
    forward: notification => channel.send(notification.bytes),

    onlyCaller: () => pending.onlyCaller(),
    callerOf: id => pending.find(id)?.caller,
    onlyOwner: () => onlyOwner,
    inFlight: () => pending.callCount,
    relayed: () => relayed,

    fail(error) {
      over ??= error;
      pending.forgetAll();
      for (const id of pending.ids()) pending.take(id)?.reject(error);
      ended.abort(over);
    },
    ended: ended.signal,
  };

  channel.listen({
    message(message: Message, about) {
      isSilent = false;
      if (message.kind === 'answer') return answered(message);
      needs.pace?.count(message.bytes.length);
      if (message.kind === 'request') receiveRequest(message, about);
      else if (message.method === 'notifications/progress') progressed(message, about);
      else notified(message, about);
    },
    oversized({ id, bytes }) {
      // If the line has no readable id and only one request is pending, the line answers that request.
      const [only] = pending.size === 1 ? pending.ids() : [];
      needs.pace?.count(bytes);
      const number = id === undefined ? only : Number(id);
      const entry = number === undefined ? undefined : pending.take(number);
      const error = tooLong(server, bytes);
      needs.output.warn({ bytes, answered: entry?.method }, error.message);
      entry?.reject(error);
    },
    noise(text) {
      needs.pace?.countNoise(text.length);
      needs.noise?.(text);
      needs.output.warn(
        { stdout: text },
        'the server wrote something else than JSON-RPC on stdout',
      );
    },
  });

  return upstream;
}
