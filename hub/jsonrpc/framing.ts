import { createHeaderSplitter } from './header-splitter.ts';
import { createLineSplitter } from './lines.ts';

export type FramingOptions = {
  /** Longer messages are discarded as they arrive, in bytes. */
  readonly maxMessageBytes: number;
};

export type FramingHandlers = {
  /** One message. The buffer belongs to the receiver. */
  message(bytes: Buffer): void;
  /** A message above the bound: both its ends and its length. */
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
  /** What came cannot be told apart into messages any more. Nothing follows. */
  broken(reason: string): void;
};

/** Messages in a stream of bytes: a line each, or behind a `Content-Length`, as the other end writes. */
export interface Framing {
  /** The chunk's memory belongs to the framing from here on. */
  push(chunk: Buffer): void;
  /** The pieces that messages are sent as, in the other end's own way once it has said anything. */
  piecesOf(messages: readonly Buffer[]): readonly (Buffer | string)[];
}

/**
 * MCP's stdio has a message a line; some clients send headers before each, as the Language Server
 * Protocol has it. A line of JSON cannot begin like a header, so that the first byte tells.
 */
export function createFraming(options: FramingOptions, on: FramingHandlers): Framing {
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
    push(chunk) {
      const at = reader ? 0 : chunk.findIndex(byte => !isSpace(byte));
      const first = chunk[at];
      if (first === undefined) return;
      reader ??= openReader(first);
      reader.push(at === 0 ? chunk : chunk.subarray(at));
    },
    piecesOf: messages =>
      messages.flatMap(message =>
        hasHeaders ? [`Content-Length: ${message.length}\r\n\r\n`, message] : [message, '\n'],
      ),
  };
}

const isLetterC = (byte: number) => byte === 0x43 || byte === 0x63;
const isSpace = (byte: number) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d);
