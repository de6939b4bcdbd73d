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
import type { Over, Session } from '#routing';
import type { ResponseStream } from '#upstream';
import { batchOf, lengthOf } from './answer.ts';
import { type ByteBudget, noBudget } from './byte-budget.ts';
import { stopping } from './unavailable.ts';

/** Writes to one client: a WebSocket, an event stream, or stdout. Its functions must not throw. */
export type Wire = BatchSink & {
  /** Absent on one of no kind that people know. */
  readonly kind?: Over;
  /** Ends the wire after all that was written has been sent. */
  close(reason: string): void;
  /** Ends the wire at once, because its client does not read. Sends the reason if the wire has room for it. */
  drop(reason: string): void;
  /** Called every few seconds to keep the connection open. */
  keepAlive(): void;
};

/** The largest message of a client, in bytes. */
export const maxMessageBytes = 64 * 1024 * 1024;

/** A connection that carries messages both ways, and its session. Both end together. */
export interface Connection {
  /** The principal of all its messages. */
  readonly principal: Principal;
  /** Receives a message or a batch, and takes ownership of the buffer. */
  receive(bytes: Buffer): void;
  /** Sends one message. Messages keep their order. */
  send(bytes: Buffer): void;
  /** Unanswered requests. Requests to listen do not count, because they do not end. */
  readonly inFlight: number;
  /** Cancels all requests, sends their answers, and closes the wire. */
  close(reason: string): void;
  /** Cancels all requests after the wire has ended. */
  gone(reason: string): void;
  /** Cancels all requests and drops the wire of a client that does not read or respond. */
  drop(reason: string): void;
}

export type ConnectionOptions = {
  /** A client with more unread bytes is dropped. */
  readonly maxUnsentBytes: number;
  /** Requests above this number of unanswered ones are refused. */
  readonly maxInFlight: number;
};

export type ConnectionNeeds = {
  readonly open: (send: (bytes: Buffer) => void) => Session;
  /** Whether the hub is stopping and refuses new requests. */
  readonly isDraining: () => boolean;
  /** Called once, at the end of the connection. */
  readonly closed: (reason: string) => void;
  readonly log: Pick<Log, 'warn'>;
  /** The unread bytes of all clients. Absent: they are not counted. */
  readonly unread?: ByteBudget;
};

/** Opens a session for a wire. All messages of one turn of the event loop are one write. */
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
  // The socket counts what has left the outbox.
  const held = unread.hold({ bytes: () => outbox.queuedBytes, drop });
  let state: 'open' | 'closing' | 'closed' = 'open';
  let inFlight = 0;
  let listening = 0;
  const session = needs.open(send);
  const { principal } = session;
  // The wire has one stream for all messages.
  const responseStream: ResponseStream = { send };

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

  /** Ends the session without telling the client. */
  function end(reason: string): void {
    if (state === 'closed') return;
    const wasOpen = state === 'open';
    state = 'closed';
    held[Symbol.dispose]();
    outbox.clear();
    if (wasOpen) session.close(reason);
    needs.closed(reason);
  }

  /** Why a request is refused; undefined if it is not. */
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
    const answer = session.accept(request, responseStream, principal);
    if (request.method === 'subscriptions/listen') {
      listening++;
      return answer.then(listened);
    }
    inFlight++;
    return answer.then(answered);
  }

  // One function for all calls, which saves a closure for each.
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
    const version = session.protocolVersion ?? '';
    if (first?.kind === 'malformed' && messages.length === 1) send(malformedAnswer(first));
    else if (!allowsBatches(version))
      send(encodeError('null', rpcCodes.invalidRequest, 'MCP has no batches since 2025-06-18'));
    else void answerBatch(messages);
  }

  /** The answers of a batch are one message, sent after the last answer. */
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
      // Cancelled requests are answered within this turn.
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
