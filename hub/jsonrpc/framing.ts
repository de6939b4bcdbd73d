import { createHeaderSplitter } from './header-splitter.ts';
import { createLineSplitter } from './lines.ts';

export type FramingOptions = {
  /** Maximum size of a message in bytes. Longer messages are discarded while they arrive. */
  readonly maxMessageBytes: number;
};

export type FramingHandlers = {
  /** Called for each message. The receiver owns the buffer. */
  message(bytes: Buffer): void;
  /** Called for an oversized message, with its start, end and length. */
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
  /** Called if the stream is not valid framing. The rest is ignored. */
  broken(reason: string): void;
};

/** Frames messages as lines, or with `Content-Length` headers, like the other end. */
export interface Framing {
  /** Takes ownership of the chunk. */
  push(chunk: Buffer): void;
  /** Returns the bytes of messages, in the framing of the other end as soon as it is known. */
  piecesOf(messages: readonly Buffer[]): readonly (Buffer | string)[];
}

/**
 * MCP over stdio uses one line per message. Some clients send headers like the Language Server Protocol. JSON cannot begin
 * like a header, so the first byte decides.
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
