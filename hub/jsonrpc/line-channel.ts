import { Buffer } from 'node:buffer';
import { type Code, createWriteBatch, retryable } from '#core';
import type { Channel, Closed, Receiver } from './channel.ts';
import { createLineSplitter } from './lines.ts';
import { readMessages } from './message.ts';

export type LineChannelOptions = {
  /** Name of the other end, for error messages. */
  readonly server: string;
  /** Maximum length of a line. A longer line is discarded in constant memory, and fails its call. */
  readonly maxLineBytes: number;
  /** Maximum number of bytes that wait to be sent. Above it, `send` throws HUB_SERVER_BUSY. */
  readonly maxWaitingBytes: number;
  /**
   * True if another process used the streams before. A partial line that it may have written is terminated, and a first
   * line that is not a message is dropped without a log line, because it may contain secrets.
   */
  readonly isTakenOver?: boolean;
};

/** The byte stream under a channel. */
type LineSink = {
  /** Writes a chunk. Must not throw: a broken stream is reported through `ended`. */
  write(chunk: Buffer): void;
  /** Returns the number of bytes that were passed to `write` and not sent yet. */
  waitingBytes(): number;
  /** Ends the stream. Must not throw. */
  end(): void;
  /** Stops reading until `resume`. Absent: not supported. */
  pause?(): void;
  resume?(): void;
};

const newline = 0x0a;
/** Maximum number of messages that are queued before `listen`. */
const maxEarly = 1000;
const noiseBytes = 2000;

/** Creates a channel of newline-delimited JSON-RPC (MCP stdio transport), and the functions that feed it. */
export function createLineChannel(options: LineChannelOptions, sink: LineSink) {
  const { server } = options;
  let receiver: Receiver | undefined;
  let early: ((receiver: Receiver) => void)[] = [];
  let over: Closed | undefined;
  let isPaused = false;
  /** True at the end of the stream: nothing can be paused any more. */
  let isEnding = false;
  /** Chunks that were read before a pause and are not split yet. */
  let unread: Buffer[] = [];
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
    isPaused: () => isPaused,
  });

  /** Splits the unread chunks, until a line of them causes a pause. */
  function readOn(): void {
    const chunks = unread;
    unread = [];
    for (const [index, chunk] of chunks.entries()) {
      const rest = splitter.push(chunk);
      if (!isPaused) continue;
      unread = [...(rest ? [rest] : []), ...chunks.slice(index + 1)];
      return;
    }
  }

  function resume(): void {
    isPaused = false;
    readOn();
    // A message of an unread chunk may have caused the next pause.
    if (!isPaused) sink.resume?.();
  }

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
    // Messages are dropped after the end, but the end of the stream must still be read.
    resume();
  }

  const refusal = (code: Code, why: string) => retryable(code, `${server} ${why}`, { server });

  const channel: Channel = {
    closed,
    pause() {
      if (over || isEnding || !sink.pause) return;
      isPaused = true;
      sink.pause();
    },
    resume,
    listen(to) {
      receiver = to;
      const kept = early;
      early = [];
      for (const give of kept) give(to);
    },
    send(bytes) {
      if (over) throw refusal('HUB_SERVER_DOWN', `is not connected: ${over.reason}`);
      if (batch.send(bytes)) return;
      const waiting = batch.queuedBytes + sink.waitingBytes();
      const why = `does not read its input: ${waiting} bytes wait already. Try again later`;
      throw refusal('HUB_SERVER_BUSY', why);
    },
    close(reason) {
      if (over) return;
      batch.flush();
      finish({ reason });
      sink.end();
    },
  };

  return {
    channel,
    /** Reads bytes from the other end. Chunks may end anywhere. */
    push(chunk: Buffer): void {
      const rest = isPaused ? chunk : splitter.push(chunk);
      if (rest) unread.push(rest);
    },
    /** Call this at the end of the stream. */
    ended(reason: Closed): void {
      isEnding = true;
      isPaused = false;
      readOn();
      const rest = splitter.end();
      if (rest.length > 0)
        for (const message of readMessages(rest).messages)
          if (message.kind !== 'malformed') hand(to => to.message(message));
          // A partial message may contain private data.
          else hand(to => to.noise(`${rest.length} bytes of a line without an end`));
      finish(reason);
    },
  };
}

/**
 * Returns the id of a discarded response, which servers write first (Python, Go) or last (TypeScript). Accepts it only
 * next to a `result` or an `error`: requests of the server also have ids, which must not be confused with the hub's.
 */
export function idAtAnEnd(head: Buffer, tail: Buffer): string | undefined {
  const text = head.toString();
  const first = idFirst.exec(text)?.[1];
  if (first !== undefined || !payloadFirst.test(text)) return first;
  return idLast.exec(tail.toString())?.[1];
}

/** Returns the id of a discarded request, which clients write first (Python, Go) or last (TypeScript). */
export function requestIdAtAnEnd(head: Buffer, tail: Buffer): string | undefined {
  return requestIdFirst.exec(head.toString())?.[1] ?? idLast.exec(tail.toString())?.[1];
}

const id = String.raw`"id"\s*:\s*(-?\d+|"[^"\\]*")`;
const version = String.raw`(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?`;
const payload = String.raw`"(?:result|error)"\s*:`;
const idFirst = new RegExp(String.raw`^\s*\{\s*${version}${id}\s*,\s*${version}${payload}`);
const requestIdFirst = new RegExp(String.raw`^\s*\{\s*${version}${id}\s*,`);
const payloadFirst = new RegExp(String.raw`^\s*\{\s*${version}${payload}`);
const idLast = new RegExp(String.raw`${id}\s*\}\s*$`);
