import { type Clock, type Log, HubError, messageOf } from '#core';
import {
  type Answer,
  type Channel,
  type Closed,
  type Message,
  type Receiver,
  errorAnswer,
  idAtAnEnd,
  membersOf,
  rawText,
  readMessage,
  readMessages,
  stringAt,
} from '#jsonrpc';
import type { LaunchSpec } from '#runtimes';
import { type Outgoing, type Post, createOutbox } from './outbox.ts';

/** Common part of both HTTP transports: a channel that sends messages by POST. */
export type HttpChannel = {
  readonly channel: Channel;
  /** Receives a message or a batch. `about`: id of the request, as JSON text, on whose response it arrived, if known. */
  receive(bytes: Buffer, about?: string): void;
  /** Receives the start and end of an oversized message. */
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
  /** Receives an oversized response to a known request. */
  oversizedAnswer(id: string | undefined, bytes: number): void;
  /** True while the request with this id, as JSON text, is unanswered. */
  awaits(id: string): boolean;
  /** Negotiated revision. Undefined before the response to `initialize`. */
  protocolVersion(): string | undefined;
  /** Resolves when reading may continue. Undefined: now. */
  whenReadable(): Promise<void> | undefined;
  /** Closes the channel with an error. */
  fail(error: Error): void;
};

export type HttpChannelNeeds = {
  readonly clock: Clock;
  readonly log: Log;
  readonly post: Post;
  /** Replaces the response to a request. */
  readonly received?: (answer: Answer, request: Outgoing) => Answer;
  /** True if messages on the response of a request are passed on with its id. */
  readonly tellsWhose: boolean;
};

/** Maximum number of messages that are queued before `listen`. */
const maxEarly = 10_000;
const noiseBytes = 2000;

/** Creates an open channel. A request that cannot be delivered is answered with an error. */
export function createHttpChannel(
  spec: Pick<LaunchSpec, 'server' | 'maxWaitingBytes'>,
  { clock, log, post, received = answer => answer, tellsWhose }: HttpChannelNeeds,
): HttpChannel {
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
      if (message.id === undefined)
        log.warn(
          { server, method: message.method, error: messageOf(error) },
          'a message could not be delivered',
        );
      else answerInstead(message.id, error);
    },
  });

  function hand(give: (receiver: Receiver) => void): void {
    if (over) return;
    if (receiver) give(receiver);
    else if (early.length < maxEarly) early.push(give);
  }

  /** Answers a request with an error in place of the server. */
  function answerInstead(id: string, error: unknown): void {
    const answer = readMessage(errorAnswer(id, error));
    if (answer.kind !== 'malformed') hand(to => to.message(answer));
  }

  function take(message: Message, about: string | undefined): void {
    if (message.kind === 'answer' && message.id) {
      const id = rawText(message.bytes, message.id);
      if (id === initializeId)
        version = stringAt(
          message.bytes,
          membersOf(message.bytes, message.payload)?.get('protocolVersion'),
        );
      const request = outbox.find(id);
      const answer = request ? received(message, request) : message;
      // The receiver first: messages that it sends in reaction precede those that waited for the response.
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

  return {
    channel: {
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
    },
    receive(bytes, about) {
      for (const message of readMessages(bytes).messages)
        if (message.kind === 'malformed')
          hand(to => to.noise(bytes.toString('utf8', 0, noiseBytes)));
        else take(message, about);
    },
    oversized: (head, tail, bytes) => oversizedAnswer(idAtAnEnd(head, tail), bytes),
    oversizedAnswer,
    awaits: id => outbox.find(id) !== undefined,
    protocolVersion: () => version,
    whenReadable: () => held?.promise,
    fail: error => finish({ reason: messageOf(error), error }),
  };
}
