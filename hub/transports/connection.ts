import { type BatchSink, HubError, type Log, createWriteBatch } from '#core';
import {
  type Malformed,
  type Message,
  type ReplyBytes,
  type Request,
  encodeError,
  errorAnswer,
  malformedAnswer,
  rawText,
  readMessages,
  rpcCodes,
  whole,
} from '#jsonrpc';
import { allowsBatches } from '#mcp';
import type { Principal } from '#policy';
import type { Exchange, Over, Session } from '#routing';
import { batchOf, lengthOf } from './answer.ts';
import { type ByteBudget, noBudget } from './byte-budget.ts';
import { stopping } from './unavailable.ts';

/** The way to one client: a WebSocket, an event stream, or stdout. None of these may throw. */
export type Wire = BatchSink & {
  /** Absent on one of no kind that people know. */
  readonly kind?: Over;
  /** Ends the wire when what was written has left. */
  close(reason: string): void;
  /** Ends the wire without waiting for its client, which does not read; tells it why where that is possible. */
  drop(reason: string): void;
  /** Called every few seconds: shows the client that the hub is there. */
  keepAlive(): void;
};

/** What the hub takes as one message of a client, in bytes. */
export const maxMessageBytes = 64 * 1024 * 1024;

/** A connection that carries messages both ways, and the session behind it. Both end together. */
export interface Connection {
  /** Who opened it: each of its messages is of this principal. */
  readonly principal: Principal;
  /** Takes one message or a batch of them, as it came. The buffer is the connection's from here on. */
  receive(bytes: Buffer): void;
  /** Sends one message after those that were sent before. */
  send(bytes: Buffer): void;
  /** Requests that are not answered yet, but for those that listen, which do not end. */
  readonly inFlight: number;
  /** Cancels what is in flight, sends what is said about that, and closes the wire. */
  close(reason: string): void;
  /** The wire has ended: cancels what is in flight. */
  gone(reason: string): void;
  /** The client does not read, or does not show itself: cancels what is in flight and drops the wire. */
  drop(reason: string): void;
}

export type ConnectionOptions = {
  /** A client that leaves more than this unread is dropped, in bytes. */
  readonly maxUnsentBytes: number;
  /** A client with this many unanswered requests gets errors for more. */
  readonly maxInFlight: number;
};

export type ConnectionNeeds = {
  readonly open: (outlet: (bytes: Buffer) => void) => Session;
  /** Whether the hub is stopping, and takes no more requests. */
  readonly isDraining: () => boolean;
  /** Called once, whatever the end was. */
  readonly closed: (reason: string) => void;
  readonly log: Pick<Log, 'warn'>;
  /** What all clients leave unread. Absent: it is not counted. */
  readonly unread?: ByteBudget;
};

/** Connects a wire to a session of its own. What is sent within one turn of the event loop is one write. */
export function createConnection(
  wire: Wire,
  options: ConnectionOptions,
  needs: ConnectionNeeds,
): Connection {
  const unread = needs.unread ?? noBudget;
  const outbox = createWriteBatch(wire, {
    maxUnsentBytes: options.maxUnsentBytes,
    waits: bytes => unread.added(bytes),
  });
  // What has left the outbox is counted with the socket.
  const held = unread.hold({ bytes: () => outbox.queuedBytes, drop });
  let state: 'open' | 'closing' | 'closed' = 'open';
  let inFlight = 0;
  let listening = 0;
  const session = needs.open(send);
  const { principal } = session;
  // What is about a request goes the way of everything else.
  const exchange: Exchange = { related: send };

  function send(bytes: Buffer): void {
    if (state === 'closed') return;
    if (outbox.send(bytes)) return;
    const pending = outbox.queuedBytes + wire.unsentBytes();
    drop(`the client does not read: ${pending} bytes wait for it`);
  }

  function drop(reason: string): void {
    if (state === 'closed') return;
    const pending = { unsentBytes: outbox.queuedBytes + wire.unsentBytes(), inFlight, listening };
    needs.log.warn({ reason, ...pending }, 'a client is dropped');
    outbox.clear();
    wire.drop(reason);
    end(reason);
  }

  /** Ends the session without a word to the client. */
  function end(reason: string): void {
    if (state === 'closed') return;
    const wasOpen = state === 'open';
    state = 'closed';
    held[Symbol.dispose]();
    outbox.clear();
    if (wasOpen) session.close(reason);
    needs.closed(reason);
  }

  /** Why a request is not taken, where it is not. */
  function refusal(): HubError | undefined {
    if (needs.isDraining()) return stopping();
    if (inFlight + listening >= options.maxInFlight)
      return new HubError(
        'HUB_SERVER_BUSY',
        `${inFlight + listening} requests of this connection are unanswered. Try again later`,
        { data: { retryable: true } },
      );
    return undefined;
  }

  function answerTo(request: Request): Promise<ReplyBytes | undefined> {
    const problem = refusal();
    if (problem) return Promise.resolve(errorAnswer(rawText(request.bytes, request.id), problem));
    const answer = session.accept(request, exchange, principal);
    if (request.method === 'subscriptions/listen') {
      listening++;
      return answer.then(listened);
    }
    inFlight++;
    return answer.then(answered);
  }

  // One function for all calls, as there are many of these.
  const answered = (answer: ReplyBytes | undefined): ReplyBytes | undefined => {
    inFlight--;
    return answer;
  };
  const listened = (answer: ReplyBytes | undefined): ReplyBytes | undefined => {
    listening--;
    return answer;
  };

  function answerOf(message: Message | Malformed): Promise<ReplyBytes | undefined> {
    if (message.kind === 'malformed') return Promise.resolve(malformedAnswer(message));
    if (message.kind === 'request') return answerTo(message);
    return session.accept(message, exchange, principal);
  }

  const sendAnswer = (answer: ReplyBytes | undefined): void => {
    if (answer) send(whole(answer));
  };

  function receiveBatch(messages: readonly (Message | Malformed)[]): void {
    const [first] = messages;
    const version = session.protocolVersion ?? '';
    if (first?.kind === 'malformed' && messages.length === 1) send(malformedAnswer(first));
    else if (!allowsBatches(version))
      send(encodeError('null', rpcCodes.invalidRequest, 'MCP has no batches since 2025-06-18'));
    else void answerBatch(messages);
  }

  /** Its answers leave together, so that all of them wait for the last. */
  async function answerBatch(messages: readonly (Message | Malformed)[]): Promise<void> {
    let waiting = 0;
    const answers = messages.map(async message => {
      const answer = await answerOf(message);
      if (answer) waiting += lengthOf(answer);
      if (waiting <= options.maxUnsentBytes) return answer;
      drop(`the answers to one batch are more than ${options.maxUnsentBytes} bytes`);
      return undefined;
    });
    const said = (await Promise.all(answers)).filter(answer => answer !== undefined);
    if (said.length > 0 && state !== 'closed') send(batchOf(said));
  }

  return {
    principal,
    send,
    receive(bytes) {
      if (state !== 'open') return;
      const { batch, messages } = readMessages(bytes);
      if (batch) receiveBatch(messages);
      else for (const message of messages) void answerOf(message).then(sendAnswer);
    },
    get inFlight() {
      return inFlight;
    },
    close(reason) {
      if (state !== 'open') return;
      state = 'closing';
      session.close(reason);
      // What was in flight is answered within this turn.
      setImmediate(() => {
        outbox.flush();
        wire.close(reason);
        end(reason);
      });
    },
    gone: end,
    drop,
  };
}
