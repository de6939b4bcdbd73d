import { type Clock, HubError, createSlotMap, createKeyedSlotMap } from '#core';
import { type Request, membersOf, rawText, readMessage, stringAt } from '#jsonrpc';
import { metaKeys } from '#mcp';

export type Outgoing = {
  readonly bytes: Buffer;
  readonly kind: 'request' | 'notification' | 'answer';
  readonly method?: string;
  /** Id of a request, as JSON text. */
  readonly id?: string;
  readonly request?: Request;
  /**
   * Revision in the metadata of a message (since 2026-07-28). A request with it has no session: aborting its HTTP
   * exchange cancels it.
   */
  readonly claimed?: string | undefined;
  /** Id of the cancelled request, as JSON text. */
  readonly cancels?: string | undefined;
};

/** Sends a message, and calls `sent` when its bytes were written. */
export type PostMessage = (to: Outgoing, signal: AbortSignal, sent: () => void) => Promise<void>;

type Needs = {
  readonly clock: Clock;
  readonly post: PostMessage;
  /** Called if a message could not be delivered, except a request that was already answered. */
  readonly failed: (message: Outgoing, error: unknown) => void;
};

/** Timeout in ms for messages to which no response is expected. */
const acceptMs = 30_000;
/** Maximum time in ms that an exchange may last after its response. Servers usually end it immediately. */
const tailMs = 1000;

type Lane = { readonly limit: number; readonly queue: Outgoing[]; active: number };
const createLane = (limit: number): Lane => ({ limit, queue: [], active: 0 });

type InFlight = { readonly message: Outgoing; release(): void; endWithin(delayMs: number): void };

/**
 * Schedules messages, because HTTP exchanges can overtake each other. No message is sent before the response to
 * `initialize`, or before `notifications/initialized` was accepted. Notifications are sent one at a time. Responses do
 * not wait for requests, as these may be waiting for them. Subscriptions, which do not end by themselves, have their
 * own slots.
 */
export function createOutbox(
  options: { readonly server: string; readonly maxWaitingBytes: number },
  { clock, post, failed }: Needs,
) {
  const lanes = {
    answer: createLane(16),
    notification: createLane(1),
    request: createLane(64),
    subscription: createLane(16),
  };
  const laneOf = ({ kind, method }: Outgoing) =>
    method === 'subscriptions/listen' ? lanes.subscription : lanes[kind];
  /** Requests in flight without a response. */
  let awaited = createKeyedSlotMap<InFlight>();
  const open = createSlotMap<AbortController>();
  let waitingBytes = 0;
  /** The handshake message that is being sent. All messages except responses wait for it. */
  let gate: Outgoing | undefined;

  function pump(): void {
    for (const lane of Object.values(lanes))
      while (lane.active < lane.limit && (!gate || lane === lanes.answer)) {
        const message = lane.queue.shift();
        if (!message) break;
        void exchange(message, lane);
      }
  }

  async function exchange(message: Outgoing, lane: Lane): Promise<void> {
    const controller = new AbortController();
    const number = open.add(controller);
    const sent = once(() => (waitingBytes -= message.bytes.length));
    const release = once(() => {
      lane.active--;
      if (gate === message) gate = undefined;
      pump();
    });
    using deadline = new DisposableStack();
    const endWithin = (delayMs: number) => {
      // Over HTTP with SSE, the response arrives after the POST has ended.
      if (open.find(number)) deadline.use(clock.after(delayMs, () => controller.abort()));
    };
    lane.active++;
    if (isHandshake(message)) gate = message;
    if (message.id === undefined) endWithin(acceptMs);
    else awaited.set(message.id, { message, release, endWithin });
    try {
      await post(message, controller.signal, sent);
    } catch (error) {
      const unanswered = message.id === undefined || awaited.delete(message.id);
      if (unanswered && open.find(number)) failed(message, error);
    }
    // The server has received the cancellation, so the HTTP exchange of the request can end.
    if (message.cancels !== undefined) giveUp(message.cancels);
    open.take(number);
    sent();
    release();
  }

  function giveUp(id: string): void {
    const exchange = awaited.get(id);
    awaited.delete(id);
    exchange?.endWithin(0);
  }

  /** Removes a request from the queue. Returns true if it was not sent yet: then the server needs no cancellation. */
  function takeBack(id: string): boolean {
    for (const { queue } of [lanes.request, lanes.subscription]) {
      const at = queue.findIndex(message => message.id === id);
      const [message] = at < 0 ? [] : queue.splice(at, 1);
      waitingBytes -= message?.bytes.length ?? 0;
      if (message) return true;
    }
    return false;
  }

  /** Returns true if the request was cancelled, or has ended, without a message to the server. */
  function endQuietly(id: string): boolean {
    if (takeBack(id)) return true;
    const exchange = awaited.get(id);
    if (exchange && exchange.message.claimed === undefined) return false;
    giveUp(id);
    return true;
  }

  return {
    /** Queues a message. Throws HUB_SERVER_BUSY if too many bytes are waiting. */
    put(bytes: Buffer): void {
      const message = outgoing(bytes);
      if (message.cancels !== undefined && endQuietly(message.cancels)) return;
      // If nothing is waiting, a message of any size is accepted.
      if (waitingBytes > 0 && waitingBytes + bytes.length > options.maxWaitingBytes)
        throw new HubError(
          'HUB_SERVER_BUSY',
          `${options.server} takes no more messages: ${waitingBytes} bytes wait already. Try again later`,
          { data: { server: options.server, retryable: true } },
        );
      waitingBytes += bytes.length;
      laneOf(message).queue.push(message);
      pump();
    },
    /** Call when the response to this request has arrived. */
    answered(id: string): void {
      const exchange = awaited.get(id);
      awaited.delete(id);
      exchange?.release();
      exchange?.endWithin(tailMs);
    },
    find: (id: string) => awaited.get(id)?.message,
    /** Drops all waiting messages and aborts those in flight. */
    clear(): void {
      for (const lane of Object.values(lanes)) lane.queue.length = 0;
      awaited = createKeyedSlotMap();
      for (const [number] of open.entries()) open.take(number)?.abort();
    },
  };
}

function outgoing(bytes: Buffer): Outgoing {
  const message = readMessage(bytes);
  // Malformed messages are forwarded, and the server rejects them.
  if (message.kind === 'malformed') return { bytes, kind: 'notification' };
  if (message.kind === 'answer') return { bytes, kind: 'answer' };
  const { kind, method } = message;
  const params = membersOf(bytes, message.params);
  const meta = membersOf(bytes, params?.get('_meta'));
  const claimed = stringAt(bytes, meta?.get(metaKeys.protocolVersion));
  if (message.kind === 'request')
    return { bytes, kind, method, claimed, id: rawText(bytes, message.id), request: message };
  const cancelled = method === 'notifications/cancelled' ? params?.get('requestId') : undefined;
  return { bytes, kind, method, claimed, cancels: cancelled && rawText(bytes, cancelled) };
}

const isHandshake = ({ method }: Outgoing) =>
  method === 'initialize' || method === 'notifications/initialized';

function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}
