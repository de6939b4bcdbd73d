import { Buffer } from 'node:buffer';
import { HubError, createWriteBatch } from '#core';
import type { Channel, Closed, Receiver } from './channel.ts';
import { createLineSplitter } from './lines.ts';
import { readMessages } from './message.ts';

export type LineChannelOptions = {
  /** Who is at the other end, for error messages. */
  readonly server: string;
  /** A longer line fails its call and is discarded in constant memory. */
  readonly maxLineBytes: number;
  /** Sending fails with HUB_SERVER_BUSY while more than this waits to be written. */
  readonly maxWaitingBytes: number;
  /**
   * Others wrote and read before: what they may have left half written is ended, and a first line that is
   * no message is the rest of one of theirs. It is dropped without a word, as it may hold anything.
   */
  readonly isTakenOver?: boolean;
};

/** The writing end under a channel. */
export type LineSink = {
  /** Must not throw: an end that is gone shows itself by `ended`. */
  write(chunk: Buffer): void;
  /** Bytes handed to `write` that the other end has not taken yet. */
  waitingBytes(): number;
  /** No more is written. Must not throw. */
  end(): void;
  /** Stops `push` from being called, and lets it be called again. Absent where that is not possible. */
  pause?(): void;
  resume?(): void;
};

/** A channel over two byte streams, and the hooks by which a driver feeds it. */
export type LineChannel = {
  readonly channel: Channel;
  /** Bytes of the other end's stdout, cut anywhere. */
  push(chunk: Buffer): void;
  /** The other end's stdout is over. */
  ended(closed: Closed): void;
};

const newline = 0x0a;
/** What comes before `listen` is kept up to this many messages; a server speaks when it is asked. */
const maxEarly = 1000;
const noiseBytes = 2000;

/** Newline-delimited JSON-RPC, as MCP's stdio transport frames it. */
export function createLineChannel(options: LineChannelOptions, sink: LineSink): LineChannel {
  let receiver: Receiver | undefined;
  let early: ((receiver: Receiver) => void)[] = [];
  let over: Closed | undefined;
  let isFirst = options.isTakenOver === true;
  if (isFirst) sink.write(Buffer.from('\n'));
  const { promise: closed, resolve: settle } = Promise.withResolvers<Closed>();

  const hand = (give: (receiver: Receiver) => void) => {
    if (over) return;
    if (receiver) give(receiver);
    else if (early.length < maxEarly) early.push(give);
  };

  const splitter = createLineSplitter(options, {
    line(bytes) {
      if (bytes.length === 0 || (bytes.length === 1 && bytes[0] === 0x0d)) return;
      const isRest = isFirst;
      isFirst = false;
      for (const message of readMessages(bytes).messages)
        if (message.kind === 'malformed') {
          if (!isRest) hand(to => to.noise(bytes.toString('utf8', 0, noiseBytes)));
        } else if (receiver && !over) receiver.message(message);
        else hand(to => to.message(message));
    },
    oversized(head, tail, bytes) {
      const isRest = isFirst;
      isFirst = false;
      if (!isRest) hand(to => to.oversized({ id: idAtAnEnd(head, tail), bytes }));
    },
  });

  const batch = createWriteBatch(
    {
      write(messages) {
        let bytes = messages.length;
        for (const message of messages) bytes += message.length;
        const chunk = Buffer.allocUnsafe(bytes);
        let at = 0;
        for (const message of messages) {
          at += message.copy(chunk, at);
          chunk[at++] = newline;
        }
        sink.write(chunk);
      },
      unsentBytes: () => sink.waitingBytes(),
    },
    { maxUnsentBytes: options.maxWaitingBytes, frameBytes: 1 },
  );

  function finish(reason: Closed): void {
    if (over) return;
    over = reason;
    batch.clear();
    settle(reason);
    // Nothing that comes is handed over any more, and the end of the stream must be seen.
    sink.resume?.();
  }

  return {
    channel: {
      closed,
      pause() {
        if (!over) sink.pause?.();
      },
      resume: () => sink.resume?.(),
      listen(to) {
        receiver = to;
        const kept = early;
        early = [];
        for (const give of kept) give(to);
      },
      send(bytes) {
        if (over)
          throw new HubError(
            'HUB_SERVER_DOWN',
            `${options.server} is not connected: ${over.reason}`,
            {
              data: { server: options.server, retryable: true },
            },
          );
        if (batch.send(bytes)) return;
        const waiting = batch.queuedBytes + sink.waitingBytes();
        throw new HubError(
          'HUB_SERVER_BUSY',
          `${options.server} does not read its input: ${waiting} bytes wait already. Try again later`,
          { data: { server: options.server, retryable: true } },
        );
      },
      close(reason) {
        if (over) return;
        batch.flush();
        finish({ reason });
        sink.end();
      },
    },
    push: chunk => splitter.push(chunk),
    ended(reason) {
      const rest = splitter.end();
      // Half of a message holds what is somebody's own.
      if (rest.length > 0) hand(to => to.noise(`${rest.length} bytes of a line without an end`));
      finish(reason);
    },
  };
}

/**
 * The id of a discarded answer: servers write it first (Python, Go) or last (TypeScript). A request of
 * the server's own has an id as well, which must not pass for one of ours: it is no answer without a
 * `result` or an `error` beside the id.
 */
export function idAtAnEnd(head: Buffer, tail: Buffer): string | undefined {
  const text = head.toString();
  const first = idFirst.exec(text)?.[1];
  if (first !== undefined || !payloadFirst.test(text)) return first;
  return idLast.exec(tail.toString())?.[1];
}

const id = String.raw`"id"\s*:\s*(-?\d+|"[^"\\]*")`;
const version = String.raw`(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?`;
const payload = String.raw`"(?:result|error)"\s*:`;
const idFirst = new RegExp(String.raw`^\s*\{\s*${version}${id}\s*,\s*${version}${payload}`);
const payloadFirst = new RegExp(String.raw`^\s*\{\s*${version}${payload}`);
const idLast = new RegExp(String.raw`${id}\s*\}\s*$`);
