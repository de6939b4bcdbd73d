import { type Clock, HubError, createSlotMap, createKeyedSlotMap } from '#core';
import { type Request, membersOf, rawText, readMessage, stringAt } from '#jsonrpc';
import { metaKeys } from '#mcp';

/** A message on its way to the server. */
export type Outgoing = {
  readonly bytes: Buffer;
  readonly kind: 'request' | 'notification' | 'answer';
  readonly method: string | undefined;
  /** The id of a request, as JSON text. */
  readonly id: string | undefined;
  readonly request: Request | undefined;
  /**
   * The revision that the message says of itself that it is of, as messages do since 2026-07-28. Such a
   * request is a conversation of its own: to end its exchange is to cancel it.
   */
  readonly claimed: string | undefined;
  /** The id of the request that a cancellation is about, as JSON text. */
  readonly cancels: string | undefined;
};

/** Sends one message. `sent` is called once its bytes need no room here any more. */
export type Post = (message: Outgoing, signal: AbortSignal, sent: () => void) => Promise<void>;

export type Outbox = {
  /** Throws HUB_SERVER_BUSY above the bound of bytes that wait. */
  put(bytes: Buffer): void;
  /** The answer to this request has come. */
  answered(id: string): void;
  /** The request with this id, while it waits for its answer. */
  find(id: string): Outgoing | undefined;
  /** Gives up everything that waits or is under way. */
  clear(): void;
};

export type OutboxNeeds = {
  readonly clock: Clock;
  readonly post: Post;
  /** The message could not be delivered; where it is a request, nothing has answered it. */
  readonly failed: (message: Outgoing, error: unknown) => void;
};

/** How long a server may take to accept what has no answer. */
const acceptMs = 30_000;
/** How long an exchange may go on after its answer. Servers end it at once. */
const tailMs = 1000;

type Lane = { readonly limit: number; readonly queue: Outgoing[]; active: number };
const createLane = (limit: number): Lane => ({ limit, queue: [], active: 0 });

/** A request under way, and what to do with it when its answer has come. */
type Exchange = {
  readonly message: Outgoing;
  release(): void;
  endWithin(delayMs: number): void;
};

/**
 * Decides when each message goes out, as HTTP exchanges overtake each other. Nothing passes
 * `initialize` before its answer, nor `notifications/initialized` before it is accepted.
 * Notifications go one at a time. Answers wait for no request: a request may be waiting for them.
 * Subscriptions, which have no end of their own, take no place of other requests.
 */
export function createOutbox(
  options: { readonly server: string; readonly maxWaitingBytes: number },
  { clock, post, failed }: OutboxNeeds,
): Outbox {
  const lanes = {
    answer: createLane(16),
    notification: createLane(1),
    request: createLane(64),
    subscription: createLane(16),
  };
  const laneOf = ({ kind, method }: Outgoing) =>
    method === 'subscriptions/listen' ? lanes.subscription : lanes[kind];
  /** Requests under way whose answer has not come. */
  let awaited = createKeyedSlotMap<Exchange>();
  const open = createSlotMap<AbortController>();
  let waitingBytes = 0;
  /** The message of the handshake that all but answers wait for. */
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
      // Over HTTP with SSE the answer comes when the POST has long ended.
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
    // The server has heard that nobody waits: its connection is wanted for something else.
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

  /** True where the request has not gone out: then the server need not know of either. */
  function takeBack(id: string): boolean {
    for (const { queue } of [lanes.request, lanes.subscription]) {
      const at = queue.findIndex(message => message.id === id);
      const [message] = at < 0 ? [] : queue.splice(at, 1);
      waitingBytes -= message?.bytes.length ?? 0;
      if (message) return true;
    }
    return false;
  }

  /** True where the request is cancelled, or is over, without a message to the server. */
  function endQuietly(id: string): boolean {
    if (takeBack(id)) return true;
    const exchange = awaited.get(id);
    if (exchange && exchange.message.claimed === undefined) return false;
    giveUp(id);
    return true;
  }

  return {
    put(bytes) {
      // A message is always taken while nothing waits, however large it is.
      if (waitingBytes > 0 && waitingBytes + bytes.length > options.maxWaitingBytes)
        throw new HubError(
          'HUB_SERVER_BUSY',
          `${options.server} takes no more messages: ${waitingBytes} bytes wait already. Try again later`,
          { data: { server: options.server, retryable: true } },
        );
      const message = outgoing(bytes);
      if (message.cancels !== undefined && endQuietly(message.cancels)) return;
      waitingBytes += bytes.length;
      laneOf(message).queue.push(message);
      pump();
    },
    answered(id) {
      const exchange = awaited.get(id);
      awaited.delete(id);
      exchange?.release();
      exchange?.endWithin(tailMs);
    },
    find: id => awaited.get(id)?.message,
    clear() {
      for (const lane of Object.values(lanes)) lane.queue.length = 0;
      awaited = createKeyedSlotMap();
      for (const [number] of open.entries()) open.take(number)?.abort();
    },
  };
}

function outgoing(bytes: Buffer): Outgoing {
  const message = readMessage(bytes);
  const nothing = {
    bytes,
    method: undefined,
    id: undefined,
    request: undefined,
    claimed: undefined,
    cancels: undefined,
  };
  // What is no message is the sender's mistake; the server says what is wrong with it.
  if (message.kind === 'malformed') return { ...nothing, kind: 'notification' };
  if (message.kind === 'answer') return { ...nothing, kind: 'answer' };
  const { kind, method } = message;
  const params = membersOf(bytes, message.params);
  const claimed = stringAt(
    bytes,
    membersOf(bytes, params?.get('_meta'))?.get(metaKeys.protocolVersion),
  );
  const sent = { ...nothing, kind, method, claimed };
  if (message.kind === 'request')
    return { ...sent, id: rawText(bytes, message.id), request: message };
  const cancelled = method === 'notifications/cancelled' ? params?.get('requestId') : undefined;
  return { ...sent, cancels: cancelled && rawText(bytes, cancelled) };
}

function isHandshake({ method }: Outgoing): boolean {
  return method === 'initialize' || method === 'notifications/initialized';
}

/** The work, done at most once. */
function once(work: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    work();
  };
}
