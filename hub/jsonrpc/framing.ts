import { createLineSplitter, endOf, nothing, startOf } from './lines.ts';

/** Maximum size of a client's message, in bytes. */
export const maxMessageBytes = 64 * 1024 * 1024;

export type FramesOptions = {
  /** Maximum size of a message in bytes. Longer messages are discarded while they arrive. */
  readonly maxMessageBytes: number;
};

type Handlers = {
  /** Called for each message. The receiver owns the buffer. */
  message(bytes: Buffer): void;
  /** Called for an oversized message, with its start, end and length. */
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
  /** Called if the framing of the stream is invalid. The rest of the stream is ignored. */
  broken(reason: string): void;
};

/**
 * Frames messages as lines, or with the headers of the Language Server Protocol, like the other end. The first byte
 * received decides, because JSON and headers cannot start with the same byte.
 */
export function createFraming(options: FramesOptions, on: Handlers) {
  let reader: { push(chunk: Buffer): void } | undefined;
  let hasHeaders = false;

  function openReader(first: number): { push(chunk: Buffer): void } {
    hasHeaders = isLetterC(first);
    return hasHeaders
      ? createHeaderSplitter(options, on)
      : createLineSplitter({ maxLineBytes: options.maxMessageBytes }, { line, oversized });
  }

  const oversized = on.oversized.bind(on);
  function line(bytes: Buffer): void {
    if (bytes.some(byte => !isSpace(byte))) on.message(bytes);
  }

  return {
    /** Reads a chunk, and takes ownership of it. */
    push(chunk: Buffer): void {
      const at = reader ? 0 : chunk.findIndex(byte => !isSpace(byte));
      const first = chunk[at];
      if (first === undefined) return;
      reader ??= openReader(first);
      reader.push(at === 0 ? chunk : chunk.subarray(at));
    },
    /** Call this at the end of the stream. The last line is a message even without a line break. */
    end(): void {
      if (!hasHeaders) reader?.push(Buffer.from('\n'));
    },
    /** Returns the bytes of messages, in the framing of the other end as soon as it is known. */
    piecesOf: (messages: readonly Buffer[]): readonly (Buffer | string)[] =>
      messages.flatMap(message =>
        hasHeaders ? [`Content-Length: ${message.length}\r\n\r\n`, message] : [message, '\n'],
      ),
  };
}

const isLetterC = (byte: number) => byte === 0x43 || byte === 0x63;
const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);

/** Maximum length of the headers `Content-Length` and `Content-Type` of a message. */
const maxHeaderBytes = 1024;

/** The message that is being read. `whole` is undefined if the message is oversized. */
type Body = {
  readonly length: number;
  readonly whole: Buffer | undefined;
  head: Buffer;
  tail: Buffer;
  filled: number;
};

/** Splits a stream of messages with `Content-Length` headers (LSP 3.17, base protocol). */
export function createHeaderSplitter({ maxMessageBytes }: FramesOptions, on: Handlers) {
  let header = '';
  let body: Body | undefined;
  let isBroken = false;

  /** Reads headers. Returns the index after the bytes that were read. */
  function readHeader(chunk: Buffer, from: number): number {
    for (let at = from; at < chunk.length; at++) {
      header += String.fromCharCode(chunk[at] ?? 0);
      if (header.endsWith('\n\r\n') || header.endsWith('\n\n')) {
        beginBody();
        return at + 1;
      }
      // Skips empty lines between messages.
      if (header.trim() === '') header = '';
      if (header.length > maxHeaderBytes) break;
    }
    if (header.length > maxHeaderBytes) fail('a header does not end');
    return chunk.length;
  }

  function beginBody(): void {
    const text = /^content-length:\s*(\d{1,15})\s*$/im.exec(header)?.[1];
    header = '';
    if (text === undefined) return fail('a header without a Content-Length');
    const length = Number(text);
    if (length === 0) return;
    const whole = length <= maxMessageBytes ? Buffer.allocUnsafe(length) : undefined;
    body = { length, whole, head: nothing, tail: nothing, filled: 0 };
  }

  function readBody(chunk: Buffer, from: number, into: Body): number {
    const { length, whole, filled } = into;
    const end = Math.min(chunk.length, from + length - filled);
    if (whole) chunk.copy(whole, filled, from, end);
    else {
      const part = chunk.subarray(from, end);
      into.head = startOf(into.head, part);
      into.tail = endOf(into.tail, part);
    }
    into.filled += end - from;
    if (into.filled === length) {
      body = undefined;
      if (whole) on.message(whole);
      else on.oversized(into.head, into.tail, length);
    }
    return end;
  }

  function fail(reason: string): void {
    isBroken = true;
    on.broken(reason);
  }

  return {
    push(chunk: Buffer): void {
      let at = 0;
      while (at < chunk.length && !isBroken)
        at = body ? readBody(chunk, at, body) : readHeader(chunk, at);
    },
  };
}
