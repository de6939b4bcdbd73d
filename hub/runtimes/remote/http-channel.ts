import type { IncomingMessage } from 'node:http';
import { type Clock, type Log, HubError, messageOf } from '#core';
import {
  type Answer,
  type Channel,
  type Closed,
  type EventHandlers,
  type Message,
  type Receiver,
  createEventParser,
  errorAnswer,
  idAtAnEnd,
  membersOf,
  rawText,
  readMessage,
  readMessages,
  stringAt,
} from '#jsonrpc';
import type { LaunchSpec } from '#runtimes';
import { type Outgoing, type PostMessage, createOutbox } from './outbox.ts';

type Needs = {
  readonly clock: Clock;
  readonly log: Log;
  readonly post: PostMessage;
  /** Returns the response to pass on in place of the received one. */
  readonly received?: (answer: Answer, request: Outgoing) => Answer;
  /** True if the channel passes on the id of the request on whose response a message arrived. */
  readonly tellsWhose: boolean;
};

/** Maximum number of received messages that are queued until `listen` is called. */
const maxEarly = 10_000;
const noiseBytes = 2000;
/** Number of bytes of a stream after which a pause takes effect. */
const pieceBytes = 4096;

export type HttpChannel = ReturnType<typeof createHttpChannel>;

/**
 * Creates an open channel that sends by POST, for both HTTP transports. Answers undeliverable requests with an error.
 */
export function createHttpChannel(
  spec: Pick<LaunchSpec, 'server' | 'maxLineBytes' | 'maxWaitingBytes'>,
  { clock, log, post, received = answer => answer, tellsWhose }: Needs,
) {
  const { server } = spec;
  const { promise: closed, resolve: settle } = Promise.withResolvers<Closed>();
  let receiver: Receiver | undefined;
  let early: ((receiver: Receiver) => void)[] = [];
  let over: Closed | undefined;
  let initializeId: string | undefined;
  let version: string | undefined;
  let held: PromiseWithResolvers<void> | undefined;

  function resume(): void {
    held?.resolve();
    held = undefined;
  }

  const outbox = createOutbox(spec, {
    clock,
    post(message, signal, sent) {
      if (message.method === 'initialize') initializeId = message.id;
      return post(message, signal, sent);
    },
    failed(message, error) {
      if (over) return;
      if (message.id !== undefined) return answerInstead(message.id, error);
      const fields = { server, method: message.method, error: messageOf(error) };
      log.warn(fields, 'a message could not be delivered');
    },
  });

  function hand(give: (receiver: Receiver) => void): void {
    if (over) return;
    if (receiver) give(receiver);
    else if (early.length < maxEarly) early.push(give);
  }

  function answerInstead(id: string, error: unknown): void {
    const answer = readMessage(errorAnswer(id, error));
    if (answer.kind !== 'malformed') hand(to => to.message(answer));
  }

  function take(message: Message, about: string | undefined): void {
    if (message.kind === 'answer' && message.id) {
      const { bytes, payload } = message;
      const id = rawText(bytes, message.id);
      if (id === initializeId)
        version = stringAt(bytes, membersOf(bytes, payload)?.get('protocolVersion'));
      const request = outbox.find(id);
      const answer = request ? received(message, request) : message;
      // The receiver comes first: messages that it sends in reaction precede those that waited for the response.
      hand(to => to.message(answer, about));
      outbox.answered(id);
    } else hand(to => to.message(message, about));
  }

  function finish(how: Closed): void {
    if (over) return;
    over = how;
    outbox.clear();
    settle(how);
    resume();
  }

  function oversizedAnswer(id: string | undefined, bytes: number): void {
    hand(to => to.oversized({ id, bytes }));
    if (id !== undefined) outbox.answered(id);
  }

  /**
   * Receives a message or a batch. `about`: id of the request, as JSON text, on whose response it arrived, if known.
   */
  function receive(bytes: Buffer, about?: string): void {
    for (const message of readMessages(bytes).messages)
      if (message.kind === 'malformed') hand(to => to.noise(bytes.toString('utf8', 0, noiseBytes)));
      else take(message, about);
  }

  const channel: Channel = {
    closed,
    tellsWhose,
    pause() {
      if (!over) held ??= Promise.withResolvers();
    },
    resume,
    listen(to) {
      receiver = to;
      const kept = early;
      early = [];
      for (const give of kept) give(to);
    },
    send(bytes) {
      if (over)
        throw new HubError('HUB_SERVER_DOWN', `${server} is not connected: ${over.reason}`, {
          data: { server, retryable: true },
        });
      outbox.put(bytes);
    },
    close: reason => finish({ reason }),
  };

  return {
    channel,
    receive,
    /** Receives the messages of an event stream until it ends. `on` gets each event before its message is received. */
    async read(
      stream: IncomingMessage,
      about: string | undefined,
      on: Partial<Pick<EventHandlers, 'event' | 'retry'>>,
    ): Promise<void> {
      const parser = createEventParser(
        { maxBytes: spec.maxLineBytes },
        {
          event(event) {
            on.event?.(event);
            if (event.type === 'message' && event.data.length > 0) receive(event.data, about);
          },
          oversized: (head, tail, bytes) => oversizedAnswer(idAtAnEnd(head, tail), bytes),
          retry: delayMs => on.retry?.(delayMs),
        },
      );
      for await (const chunk of stream)
        for (const piece of piecesOf(chunk)) {
          parser.push(piece);
          if (held) await held.promise;
        }
    },
    oversizedAnswer,
    /** True while the request with this id, as JSON text, is unanswered. */
    awaits: (id: string) => outbox.find(id) !== undefined,
    /** Returns the negotiated MCP revision; undefined before the response to `initialize`. */
    protocolVersion: () => version,
    fail: (error: Error) => finish({ reason: messageOf(error), error }),
  };
}

function* piecesOf(chunk: Buffer): Generator<Buffer> {
  for (let at = 0; at < chunk.length; at += pieceBytes) yield chunk.subarray(at, at + pieceBytes);
}
