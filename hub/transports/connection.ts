import { type BatchSink, type HubError, type Log, createWriteBatch, retryable } from '#core';
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
import type { Over, Session } from '#routing';
import type { ResponseStream } from '#upstream';
import type { ByteBudget } from './byte-budget.ts';
import { batchOf, lengthOf, requestInvalid, stopping } from './http-message.ts';

/** Output to one client: a WebSocket, an event stream, or stdout. Its functions must not throw. */
export type Wire = BatchSink & {
  readonly kind?: Over;
  /** The name that the client gave when it connected; undefined if it gave none. */
  readonly clientName?: string | undefined;
  /** Closes the wire after everything written was sent. */
  close(reason: string): void;
  /** Closes the wire at once, because its client does not read. Sends the reason if the wire has room for it. */
  drop(reason: string): void;
  /** Called every few seconds to keep the connection open. */
  keepAlive(): void;
};

export type Connection = ReturnType<typeof createConnection>;

export type ConnectionNeeds = {
  readonly open: (send: (bytes: Buffer) => void) => Session;
  /** True if the hub is stopping and refuses new requests. */
  readonly isDraining: () => boolean;
  /** Called once, at the end of the connection. */
  readonly closed: (reason: string) => void;
  readonly log: Pick<Log, 'warn'>;
  /** Budget for the unread bytes of all clients. */
  readonly unread: ByteBudget;
};

/**
 * Opens a session for a wire, which carries messages both ways. The wire and the session end together. All messages of
 * one turn of the event loop are one write. A client with more than `maxUnsentBytes` unread bytes is dropped; requests
 * beyond `maxInFlight` unanswered requests are refused.
 */
export function createConnection(
  wire: Wire,
  { maxUnsentBytes, maxInFlight }: Readonly<Record<'maxUnsentBytes' | 'maxInFlight', number>>,
  { open, isDraining, closed, log, unread }: ConnectionNeeds,
) {
  const outbox = createWriteBatch(wire, { maxUnsentBytes, waits: bytes => unread.added(bytes) });
  // Bytes that have left the outbox are counted by the socket.
  const held = unread.hold({ bytes: () => outbox.queuedBytes, drop });
  let state: 'open' | 'closing' | 'closed' = 'open';
  let inFlight = 0;
  let listening = 0;
  const session = open(send);
  let { principal } = session;
  // The wire has one stream for all messages.
  const responseStream: ResponseStream = { send };

  function send(bytes: Buffer): void {
    if (state === 'closed' || outbox.send(bytes)) return;
    const pending = outbox.queuedBytes + wire.unsentBytes();
    drop(`the client does not read: ${pending} bytes wait for it`);
  }

  function drop(reason: string): void {
    if (state === 'closed') return;
    const pending = { unsentBytes: outbox.queuedBytes + wire.unsentBytes(), inFlight, listening };
    log.warn({ reason, ...pending }, 'a client is dropped');
    outbox.clear();
    wire.drop(reason);
    end(reason);
  }

  function end(reason: string): void {
    if (state === 'closed') return;
    const wasOpen = state === 'open';
    state = 'closed';
    held[Symbol.dispose]();
    outbox.clear();
    if (wasOpen) session.close(reason);
    closed(reason);
  }

  /** Returns the reason to refuse a request; undefined to accept it. */
  function refusal(): HubError | undefined {
    if (isDraining()) return stopping();
    const unanswered = inFlight + listening;
    if (unanswered < maxInFlight) return undefined;
    const why = `${unanswered} requests of this connection are unanswered. Try again later`;
    return retryable('HUB_SERVER_BUSY', why);
  }

  function answerTo(request: Request): Promise<ReplyBytes | undefined> {
    const problem = refusal();
    if (problem) return Promise.resolve(errorAnswer(rawText(request.bytes, request.id), problem));
    const answer = session.accept(request, responseStream, principal);
    if (request.method === 'subscriptions/listen') {
      listening++;
      return answer.then(listened);
    }
    inFlight++;
    return answer.then(answered);
  }

  // The same function for all calls, which saves a closure for each.
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
    return session.accept(message, responseStream, principal);
  }

  const sendAnswer = (answer: ReplyBytes | undefined): void => {
    if (answer) send(whole(answer));
  };

  function receiveBatch(messages: readonly (Message | Malformed)[]): void {
    const [first] = messages;
    if (first?.kind === 'malformed' && messages.length === 1) send(malformedAnswer(first));
    else if (!allowsBatches(session.protocolVersion ?? ''))
      send(
        encodeError(
          'null',
          rpcCodes.invalidRequest,
          'MCP has no batches since 2025-06-18',
          requestInvalid,
        ),
      );
    else void answerBatch(messages);
  }

  /** Answers a batch with one message, sent after the last answer. */
  async function answerBatch(messages: readonly (Message | Malformed)[]): Promise<void> {
    let waiting = 0;
    const answers = messages.map(async message => {
      const answer = await answerOf(message);
      if (answer) waiting += lengthOf(answer);
      if (waiting <= maxUnsentBytes) return answer;
      drop(`the answers to one batch are more than ${maxUnsentBytes} bytes`);
      return undefined;
    });
    const sent = (await Promise.all(answers)).filter(answer => answer !== undefined);
    if (sent.length > 0 && state !== 'closed') send(batchOf(sent));
  }

  return {
    /** The principal of all messages of the connection, with its current grants. */
    get principal() {
      return principal;
    },
    set principal(changed: Principal) {
      principal = changed;
    },
    /** Sends one message. Messages keep their order. */
    send,
    /** Receives a message or a batch, and takes ownership of the buffer. */
    receive(bytes: Buffer): void {
      if (state !== 'open') return;
      const { batch, messages } = readMessages(bytes);
      if (batch) receiveBatch(messages);
      else for (const message of messages) void answerOf(message).then(sendAnswer);
    },
    /** Number of unanswered requests. `subscriptions/listen` does not count, because it does not end. */
    get inFlight() {
      return inFlight;
    },
    /** Cancels all requests, sends their answers, and closes the wire. */
    close(reason: string): void {
      if (state !== 'open') return;
      state = 'closing';
      session.close(reason);
      // Cancelled requests are answered within this turn.
      setImmediate(() => {
        outbox.flush();
        wire.close(reason);
        end(reason);
      });
    },
    /** Cancels all requests. Call this after the wire has ended. */
    gone: end,
    /** Cancels all requests and drops the wire of a client that does not read or respond. */
    drop,
  };
}
