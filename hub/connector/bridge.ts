import {
  type BackoffOptions,
  type Clock,
  type Log,
  backoffMs,
  createWriteBatch,
  isObject,
  messageOf,
  sleep,
  untilIdle,
} from '#core';
import {
  type Answer,
  type FramesOptions,
  type Malformed,
  type Message,
  type Request,
  type StdioStreams,
  encodeCall,
  errorAnswer,
  malformedAnswer,
  membersOf,
  openFrames,
  rawText,
  readMessages,
  valueOf,
} from '#jsonrpc';
import { createBatches } from './batches.ts';
import type { Link, LinkHandlers } from './dial.ts';
import { answerMeanwhile, away, busy, firstRetryMs, noBatches } from './own-answers.ts';
import { createPendingRequests } from './pending-requests.ts';
import { createForwardedRequests, createSession } from './session.ts';

type BridgeOptions = FramesOptions & {
  /** Maximum time in ms for pending calls after the end of the client's input. */
  readonly graceMs: number;
};

type BridgeNeeds = {
  /** Connects to the hub. Rejects with HubError if that fails. */
  readonly dial: (on: LinkHandlers) => Promise<Link>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
};

const backoff: BackoffOptions = { firstMs: firstRetryMs, maxMs: 5_000, jitter: 0.5 };
/** Maximum unread output for either end, in bytes. An end that exceeds the limit is dropped. */
const maxUnsentBytes = 64 * 1024 * 1024;
/** Maximum time in ms from the last message of a stopping hub to the end of its connection. */
const listenEndMs = 1_000;

/**
 * Connects a client on stdin and stdout to a running hub, until the client disconnects or the signal aborts. Rejects
 * if the hub cannot be reached at the start. If the connection is lost later, the bridge reconnects and restores the
 * client's session in the hub. The client gets errors for its pending requests and otherwise keeps working.
 */
export async function bridgeStdio(
  streams: StdioStreams,
  options: BridgeOptions,
  needs: BridgeNeeds,
  signal: AbortSignal,
): Promise<void> {
  const { clock, log } = needs;
  const { promise: over, resolve: end } = Promise.withResolvers<string>();
  const session = createSession();
  const pending = createPendingRequests();
  const batches = createBatches();
  const forwarded = createForwardedRequests();
  /** The pending `initialize` that the bridge sent itself, to restore the session. */
  let awaited: { readonly id: string; readonly resolve: (answer: Answer) => void } | undefined;
  let link: Link | undefined;
  /** Fails the current attempt to join the hub; undefined before the first attempt. */
  let failJoin: ((reason: string) => void) | undefined;
  let isUp = false;
  let isOver = false;

  const frames = openFrames(
    streams,
    options,
    {
      message(bytes) {
        const { batch, messages } = readMessages(bytes);
        if (batch) batchFromClient(messages);
        else for (const message of messages) fromClient(message);
      },
      ended({ reason, reads }) {
        if (reads) void endWhenAnswered(reason);
        else end(reason);
      },
    },
    clock,
  );
  const toClient = createWriteBatch(frames, { maxUnsentBytes });

  function sendToClient(bytes: Buffer): void {
    if (!isOver && !toClient.send(bytes)) end('the client does not read');
  }

  const toHub = createWriteBatch(
    { write: messages => link?.write(messages), unsentBytes: () => link?.unsentBytes() ?? 0 },
    { maxUnsentBytes },
  );

  function fromClient(message: Message | Malformed): void {
    if (message.kind === 'malformed') return sendToClient(malformedAnswer(message));
    if (message.kind === 'request') return request(message);
    if (message.kind === 'notification') {
      session.recordNotification(message);
      if (message.method === 'notifications/cancelled') {
        const span = membersOf(message.bytes, message.params)?.get('requestId');
        const id = span && rawText(message.bytes, span);
        if (id !== undefined && pending.cancelled(id)) answerClient(batches.dropped(id));
      }
      if (isUp) void toHub.send(message.bytes);
      return;
    }
    const answer = forwarded.answerForHub(message);
    if (answer) void toHub.send(answer);
  }

  /** Handles a batch of the client like the hub does on its own stdin. */
  function batchFromClient(messages: readonly (Message | Malformed)[]): void {
    const [first] = messages;
    if (first?.kind === 'malformed' && messages.length === 1) return fromClient(first);
    if (!session.allowsBatches) return sendToClient(noBatches);
    answerClient(batches.add(messages));
    for (const message of messages) if (message.kind !== 'malformed') fromClient(message);
  }

  /** Sends the client the message that its answer led to, if there is one. */
  function answerClient(bytes: Buffer | undefined): void {
    if (bytes) sendToClient(bytes);
    if (batches.keptBytes > maxUnsentBytes) end('the answers to its batches are too long');
  }

  function request(message: Request): void {
    const id = rawText(message.bytes, message.id);
    if (!isUp) return answerClient(batches.answered(id, answerMeanwhile(message.method, id)));
    if (pending.isFull || !toHub.send(message.bytes))
      return answerClient(batches.answered(id, errorAnswer(id, busy(pending.size))));
    pending.add(id, message);
  }

  /** Converts a message of the hub to the message for the client; undefined if the client gets none. */
  function forClient(message: Message | Malformed): Buffer | undefined {
    if (message.kind === 'malformed') return undefined;
    if (message.kind === 'request') return forwarded.requestForClient(message);
    if (message.kind === 'answer') {
      const { bytes } = message;
      if (!message.id) return bytes;
      const id = rawText(bytes, message.id);
      return isAnswerForClient(id, message) ? batches.answered(id, bytes) : undefined;
    }
    if (message.method === listChangedOf('resources'))
      for (const retry of session.retrySubscriptions()) void toHub.send(retry);
    return forwarded.notificationForClient(message);
  }

  function isAnswerForClient(id: string, answer: Answer): boolean {
    if (awaited?.id === id) awaited.resolve(answer);
    if (session.recordRestored(answer)) return false;
    const listening = pending.findListen(id);
    if (listening) {
      endListening(id, listening, answer);
      return false;
    }
    const request = pending.find(id);
    if (request) session.recordAnswer(request, answer);
    return pending.delete(id);
  }

  /**
   * Delays the answer to a `subscriptions/listen` request. A stopping hub answers these requests and then disconnects.
   * In that case the next hub gets the request, and the client does not get the answer.
   */
  function endListening(id: string, request: Request, answer: Answer): void {
    const from = link;
    clock.after(listenEndMs, () => {
      if (link !== from || pending.find(id) !== request) return;
      pending.delete(id);
      answerClient(batches.answered(id, answer.bytes));
    });
  }

  /** Connects to the hub and restores the client's session there. Rejects if that fails. */
  async function join(): Promise<void> {
    const { promise: broken, reject } = Promise.withResolvers<never>();
    broken.catch(() => {}); // Awaited below, unless the join ends first.
    failJoin = reason => reject(away(reason));
    const opened = await needs.dial({
      message(received) {
        for (const message of readMessages(received).messages) {
          answerClient(forClient(message));
        }
      },
      closed: lost,
    });
    if (isOver) return opened.close();
    link = opened;
    const answer = await Promise.race([initializeAgain(opened), broken]);
    if (answer?.failed) {
      opened.close();
      link = undefined;
      throw away(`it refuses the session: ${rawText(answer.bytes, answer.payload)}`);
    }
    const messages = [...session.restore(), ...pending.listens().map(({ bytes }) => bytes)];
    if (messages.length > 0) opened.write(messages);
    isUp = true;
    // Announce all lists as changed: the client has missed the changes during the outage.
    if (answer)
      for (const kind of listsOf(answer)) sendToClient(encodeCall(undefined, listChangedOf(kind)));
  }

  /** Initializes the client's session at another hub. Resolves to undefined if the client has none. */
  async function initializeAgain(hub: Link): Promise<Answer | undefined> {
    const initialize = session.initializeAgain();
    if (!initialize) return undefined;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    awaited = { id: initialize.id, resolve };
    hub.write([initialize.bytes]);
    return await promise;
  }

  /** Handles the end of the connection to the hub. */
  function lost(reason: string): void {
    const wasUp = isUp;
    isUp = false;
    link = undefined;
    toHub.clear();
    const error = away(`the hub went away (${reason}), perhaps after it performed the request`);
    // `subscriptions/listen` requests stay pending: the next hub gets them.
    for (const id of pending.deleteAnswerable())
      answerClient(batches.answered(id, errorAnswer(id, error)));
    for (const id of forwarded.nextHub())
      sendToClient(
        encodeCall(undefined, 'notifications/cancelled', { requestId: JSON.parse(id), reason }),
      );
    if (!wasUp) return failJoin?.(reason);
    log.warn({ reason }, 'the connection to the hub ended; waiting for the hub');
    void rejoin();
  }

  async function rejoin(): Promise<void> {
    let lastMessage = '';
    for (let failures = 1; !isOver; failures++) {
      await sleep(backoffMs(backoff, failures, needs.random), { clock });
      if (isOver) return;
      try {
        await join();
        log.info({}, 'the hub is back');
        return;
      } catch (error) {
        const message = messageOf(error);
        if (message !== lastMessage) log.warn({}, message);
        lastMessage = message;
      }
    }
  }

  /**
   * Ends the bridge once the pending calls are answered or `graceMs` has passed: a client whose input ended may still
   * read the answers.
   */
  async function endWhenAnswered(reason: string): Promise<void> {
    await untilIdle(() => pending.isBusy, options.graceMs, clock);
    end(reason);
  }

  if (signal.aborted) end('stopped');
  signal.addEventListener('abort', () => end('stopped'), { once: true });
  // Read the client's messages only after the first hub is connected.
  await Promise.race([join().then(() => frames.read()), over]);
  const reason = await over;
  toClient.flush();
  isOver = true;
  link?.close();
  log.debug({ reason }, 'the bridge ends');
  await frames.close();
}

const lists = ['tools', 'prompts', 'resources'] as const;

/** Returns the lists whose changes the server announces. */
function listsOf({ bytes, payload }: Answer): readonly string[] {
  const capabilities = valueOf(bytes, membersOf(bytes, payload)?.get('capabilities'));
  return lists.filter(kind => {
    const capability = isObject(capabilities) ? capabilities[kind] : undefined;
    return isObject(capability) && capability['listChanged'] === true;
  });
}

const listChangedOf = (kind: string) => `notifications/${kind}/list_changed`;
