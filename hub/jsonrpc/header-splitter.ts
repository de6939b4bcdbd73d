type Handlers = {
  message(bytes: Buffer): void;
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
  broken(reason: string): void;
};

/** Length of the start and end of an oversized message, which identify its call. */
const keptBytes = 1024;
/** Maximum length of headers: `Content-Length` and `Content-Type`. */
const maxHeaderBytes = 1024;

/** The current message. `whole` is undefined if it is oversized. */
type Body = {
  readonly length: number;
  readonly whole: Buffer | undefined;
  readonly head: Buffer;
  readonly tail: Buffer;
  filled: number;
};

/** Splits a stream of messages with `Content-Length` headers (LSP 3.17, base protocol). */
export function createHeaderSplitter(
  options: { readonly maxMessageBytes: number },
  on: Handlers,
): { push(chunk: Buffer): void } {
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
    const isKept = length <= options.maxMessageBytes;
    const kept = isKept ? 0 : Math.min(keptBytes, length);
    body = {
      length,
      whole: isKept ? Buffer.allocUnsafe(length) : undefined,
      head: Buffer.alloc(kept),
      tail: Buffer.alloc(kept),
      filled: 0,
    };
  }

  function readBody(chunk: Buffer, from: number, into: Body): number {
    const { length, whole, head, tail, filled } = into;
    const end = Math.min(chunk.length, from + length - filled);
    if (whole) chunk.copy(whole, filled, from, end);
    else {
      chunk.copy(head, Math.min(filled, head.length), from, end);
      // The remaining bytes are the end of the message.
      const skipped = Math.max(0, length - tail.length - filled);
      if (from + skipped < end)
        chunk.copy(tail, filled + skipped - (length - tail.length), from + skipped, end);
    }
    into.filled += end - from;
    if (into.filled === length) {
      body = undefined;
      if (whole) on.message(whole);
      else on.oversized(head, tail, length);
    }
    return end;
  }

  function fail(reason: string): void {
    isBroken = true;
    on.broken(reason);
  }

  return {
    push(chunk) {
      let at = 0;
      while (at < chunk.length && !isBroken)
        at = body ? readBody(chunk, at, body) : readHeader(chunk, at);
    },
  };
}
