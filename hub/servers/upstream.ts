import { type Log, HubError, isObject, messageOf } from '#core';
import {
  type Answer,
  type Channel,
  type Edit,
  type Message,
  type Notification,
  type Request,
  type Span,
  encodeCall,
  encodeError,
  encodeResult,
  membersOf,
  rawText,
  rpcCodes,
  splice,
  valueOf,
} from '#rpc';
import type { LimitedLog } from './limited-log.ts';

/** A client's request on its way to a server: the message and what must differ in it. */
export type Outbound = {
  readonly request: Request;
  /** Replacements besides those of the id and the progress token, which are the upstream's own. */
  readonly edits: readonly Edit[];
  readonly progressToken: Span | undefined;
};

/** Who asked. What the server sends about a request while it works on it goes to its caller. */
export interface Caller {
  /** The session of the client: two callers with the same owner are the same client. */
  readonly owner: object;
  related(bytes: Buffer): void;
  /** The request is not in flight any more: it is answered, given up or refused. Must not throw. */
  settled?(): void;
}

/** A request in flight. */
export type Relayed = {
  /** The answer with the client's own id. Rejects with HubError when there is none. */
  readonly answer: Promise<Buffer>;
  /** Tells the server that nobody waits any more, and rejects the answer with HUB_CALL_CANCELLED. */
  cancel(reason: string | undefined): void;
};

/** A JSON-RPC session with one server. Lives exactly as long as its channel. */
export interface Upstream {
  /** Relays a client's request. Throws HubError where the server cannot take it. */
  relay(outbound: Outbound, caller: Caller, timeoutMs: number): Relayed;
  /** The hub's own request: its answer, whose payload is a result. Rejects with HubError. */
  request(method: string, params: object | undefined, timeoutMs: number): Promise<Answer>;
  notify(method: string, params?: object): void;
  /**
   * The caller of the newest request in flight, where all in flight have the same owner. Requests of
   * the hub's own do not count.
   */
  onlyCaller(): Caller | 'none' | 'several';
  /** How many requests wait for an answer. */
  inFlight(): number;
  /** Rejects every request in flight: the server is gone. */
  fail(error: HubError): void;
}

type Pending = {
  readonly method: string;
  readonly caller: Caller | undefined;
  readonly progressToken: string | undefined;
  readonly timeout: NodeJS.Timeout;
  settle(answer: Answer): void;
  reject(error: HubError): void;
};

export type UpstreamOptions = { readonly server: string };

export type UpstreamNeeds = {
  readonly log: Log;
  /** For what the server can make the hub log as often as it likes. */
  readonly output: LimitedLog;
  /** Notifications of the server that are about no request in flight. */
  readonly notified: (notification: Notification) => void;
};

/** Pairs answers with requests by ids of the hub's own, and gives each client its own id back. */
export function createUpstream(
  options: UpstreamOptions,
  channel: Channel,
  needs: UpstreamNeeds,
): Upstream {
  const { server } = options;
  const pending = new Map<number, Pending>();
  let lastId = 0;
  let over: HubError | undefined;

  function begin(
    method: string,
    caller: Caller | undefined,
    progressToken: string | undefined,
    timeoutMs: number,
    settle: (answer: Answer) => void,
    reject: (error: HubError) => void,
  ): number {
    if (over) throw over;
    const id = ++lastId;
    const timeout = setTimeout(() => {
      take(id);
      // The protocol forbids to cancel this one: its server is ended instead.
      if (method !== 'initialize') abandon(id, 'the call timed out');
      // What the hub itself asked is reported by whoever asked it.
      if (caller) needs.log.warn({ method, timeoutMs }, 'a call timed out');
      reject(
        new HubError(
          'HUB_CALL_TIMEOUT',
          `${server} did not answer ${method} within ${timeoutMs / 1000} s. Raise "timeout" of this server if it needs longer`,
          { data: { server, method, timeoutMs } },
        ),
      );
    }, timeoutMs);
    pending.set(id, { method, caller, progressToken, timeout, settle, reject });
    return id;
  }

  function take(id: number): Pending | undefined {
    const entry = pending.get(id);
    if (!entry) return undefined;
    pending.delete(id);
    clearTimeout(entry.timeout);
    entry.caller?.settled?.();
    return entry;
  }

  /** Sends, or takes the request back when the channel refuses it. */
  function send(id: number, bytes: Buffer): void {
    try {
      channel.send(bytes);
    } catch (error) {
      take(id);
      throw error;
    }
  }

  /** Tells the server that the answer is not wanted any more. */
  function abandon(id: number, reason: string | undefined): void {
    try {
      channel.send(encodeCall(undefined, 'notifications/cancelled', { requestId: id, reason }));
    } catch (error) {
      needs.log.debug({ error: messageOf(error) }, 'a cancellation could not be sent');
    }
  }

  function answered(answer: Answer): void {
    const id = answer.id ? Number(rawText(answer.bytes, answer.id)) : NaN;
    const entry = take(id);
    if (entry) entry.settle(answer);
    else if (answer.failed)
      needs.output.warn(
        { answer: answer.bytes.toString('utf8', 0, 500) },
        'the server reported an error that answers no request',
      );
    else needs.log.debug({ id }, 'an answer came that nobody waits for');
  }

  /** A server asks something of a client. Which client cannot be told before sessions say so. */
  function asked(request: Request): void {
    const id = rawText(request.bytes, request.id);
    const answer =
      request.method === 'ping'
        ? encodeResult(id, '{}')
        : encodeError(
            id,
            rpcCodes.methodNotFound,
            `the hub does not pass ${request.method} on to a client`,
          );
    try {
      channel.send(answer);
    } catch (error) {
      needs.log.debug({ error: messageOf(error) }, 'an answer could not be sent');
    }
  }

  function progressed(notification: Notification): void {
    const token = membersOf(notification.bytes, notification.params)?.get('progressToken');
    const entry = token && pending.get(Number(rawText(notification.bytes, token)));
    if (!token || !entry?.caller || entry.progressToken === undefined) return;
    // A call that makes progress is alive, however long it takes.
    entry.timeout.refresh();
    entry.caller.related(splice(notification.bytes, [{ span: token, text: entry.progressToken }]));
  }

  channel.listen({
    message(message: Message) {
      if (message.kind === 'answer') answered(message);
      else if (message.kind === 'request') asked(message);
      else if (message.method === 'notifications/progress') progressed(message);
      else needs.notified(message);
    },
    oversized({ id, bytes }) {
      // Where the line did not tell which call it answers, a single one in flight is the one.
      const [only] = pending.size === 1 ? pending.keys() : [];
      const number = id === undefined ? only : Number(id);
      const entry = number === undefined ? undefined : take(number);
      const error = new HubError(
        'HUB_LINE_TOO_LONG',
        `${server} answered with ${bytes} bytes, which is above its "max_line"; the answer was discarded`,
        { data: { server, bytes } },
      );
      needs.output.warn({ bytes, answered: entry?.method }, error.message);
      entry?.reject(error);
    },
    noise(text) {
      needs.output.warn(
        { stdout: text },
        'the server wrote something else than JSON-RPC on stdout',
      );
    },
  });

  return {
    relay({ request, edits, progressToken }, caller, timeoutMs) {
      const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
      const clientId = rawText(request.bytes, request.id);
      const id = begin(
        request.method,
        caller,
        progressToken && rawText(request.bytes, progressToken),
        timeoutMs,
        answer =>
          resolve(
            answer.id ? splice(answer.bytes, [{ span: answer.id, text: clientId }]) : answer.bytes,
          ),
        reject,
      );
      const text = String(id);
      const own = { span: request.id, text };
      send(
        id,
        splice(
          request.bytes,
          progressToken ? [own, { span: progressToken, text }, ...edits] : [own, ...edits],
        ),
      );
      return {
        answer: promise,
        cancel(reason) {
          const entry = take(id);
          if (!entry) return;
          abandon(id, reason);
          entry.reject(
            new HubError('HUB_CALL_CANCELLED', `the client cancelled ${request.method}`, {
              data: { server },
            }),
          );
        },
      };
    },

    async request(method, params, timeoutMs) {
      const { promise, resolve, reject } = Promise.withResolvers<Answer>();
      const id = begin(method, undefined, undefined, timeoutMs, resolve, reject);
      send(id, encodeCall(id, method, params));
      const answer = await promise;
      if (!answer.failed) return answer;
      const error = valueOf(answer.bytes, answer.payload);
      const why = isObject(error) ? String(error['message']) : 'no reason given';
      // Of a remote server the channel answers what could not be delivered, and names it already.
      const message = why.startsWith(`${server} `) ? why : `${server} refused ${method}: ${why}`;
      throw new HubError('HUB_SERVER_PROTOCOL', message, { data: { server, method, error } });
    },

    notify(method, params) {
      channel.send(encodeCall(undefined, method, params));
    },

    onlyCaller() {
      let newest: Caller | undefined;
      for (const { caller } of pending.values()) {
        if (!caller) continue;
        if (newest && newest.owner !== caller.owner) return 'several';
        newest = caller;
      }
      return newest ?? 'none';
    },

    inFlight: () => pending.size,

    fail(error) {
      over ??= error;
      for (const id of Array.from(pending.keys())) take(id)?.reject(error);
    },
  };
}
