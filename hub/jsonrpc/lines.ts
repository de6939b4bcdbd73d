import { freeBuffer } from '#core';

/** How much of each end of a line above the bound is kept, to find out which call it answers. */
const keptBytes = 1024;

type LineHandlers = {
  /** A whole line without its line break. The buffer belongs to the receiver. */
  line(bytes: Buffer): void;
  /** A line above the bound: both its ends and its length. */
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
};

const nothing: Buffer = Buffer.alloc(0);

/**
 * Cuts a stream of bytes into lines, in linear time and in memory that follows the line's length,
 * whatever the chunks are. A line of more than `maxLineBytes` is discarded as it arrives, in constant
 * memory.
 */
export function createLineSplitter(options: { readonly maxLineBytes: number }, on: LineHandlers) {
  /** The first `waiting` bytes of it are the beginning of a line that ends in a later chunk. */
  let held: Buffer = nothing;
  let waiting = 0;
  let discarding: { readonly head: Buffer; tail: Buffer; bytes: number } | undefined;

  /** Adds to what is held, which gets room for `capacity` bytes where it has too little. */
  function append(part: Buffer, capacity: number): void {
    const length = waiting + part.length;
    if (length > held.length) {
      const larger = Buffer.allocUnsafe(capacity);
      held.copy(larger, 0, 0, waiting);
      freeBuffer(held);
      held = larger;
    }
    part.copy(held, waiting);
    freeBuffer(part);
    waiting = length;
  }

  function release(): void {
    held = nothing;
    waiting = 0;
  }

  /** Takes a piece of a line that ends in a later chunk. */
  function keep(part: Buffer): void {
    const length = waiting + part.length;
    if (discarding) {
      discarding.bytes += part.length;
      discarding.tail = endOf(discarding.tail, part);
      freeBuffer(part);
    } else if (length > options.maxLineBytes) {
      const before = held.subarray(0, waiting);
      discarding = {
        head: Buffer.concat([before.subarray(0, keptBytes), part.subarray(0, keptBytes)]).subarray(
          0,
          keptBytes,
        ),
        tail: endOf(endOf(nothing, before), part),
        bytes: length,
      };
      release();
    } else if (waiting === 0) {
      held = part;
      waiting = length;
    } else {
      // Doubling keeps the copying linear, and a line that comes byte by byte costs no object a byte.
      append(part, Math.min(2 * length, options.maxLineBytes));
    }
  }

  /** Takes the last piece of a line. */
  function finish(part: Buffer): void {
    if (discarding || waiting + part.length > options.maxLineBytes) {
      keep(part);
      if (discarding) on.oversized(discarding.head, discarding.tail, discarding.bytes);
      discarding = undefined;
      return;
    }
    if (waiting === 0) return on.line(part);
    append(part, waiting + part.length);
    const line = held.subarray(0, waiting);
    release();
    on.line(line);
  }

  return {
    /** The chunk's memory belongs to the splitter from here on. */
    push(chunk: Buffer): void {
      let from = 0;
      let end = chunk.indexOf(0x0a);
      while (end >= 0) {
        finish(chunk.subarray(from, end));
        from = end + 1;
        end = chunk.indexOf(0x0a, from);
      }
      if (from < chunk.length) keep(from === 0 ? chunk : chunk.subarray(from));
    },
    /** The stream is over: what is left of a line is no message, and comes back for the log. */
    end(): Buffer {
      const rest = discarding?.head ?? held.subarray(0, waiting);
      release();
      discarding = undefined;
      return rest;
    },
  };
}

function endOf(before: Buffer, part: Buffer): Buffer {
  return part.length >= keptBytes
    ? Buffer.from(part.subarray(-keptBytes))
    : Buffer.concat([before, part]).subarray(-keptBytes);
}
