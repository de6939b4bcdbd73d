import { freeBuffer } from '#core';

/** Number of bytes stored from the start and from the end of an oversized line or event, to find the id of its call. */
export const keptBytes = 1024;

type LineHandlers = {
  /** Called for each line, without line break. The receiver owns the buffer. */
  line(bytes: Buffer): void;
  /** Called for an oversized line, with its start, end and length. */
  oversized(head: Buffer, tail: Buffer, bytes: number): void;
  /** True if the rest of a chunk is to be returned after this line instead of split. Absent: never. */
  isPaused?(): boolean;
};

export const nothing: Buffer = Buffer.alloc(0);

/**
 * Splits a stream of bytes into lines, in linear time. A line of more than `maxLineBytes` is discarded while it
 * arrives, in constant memory. A byte order mark at the start of the stream is removed.
 */
export function createLineSplitter(options: { readonly maxLineBytes: number }, on: LineHandlers) {
  /** Buffer whose first `waiting` bytes are the start of an incomplete line. */
  let held: Buffer = nothing;
  let waiting = 0;
  let discarding: { readonly head: Buffer; tail: Buffer; bytes: number } | undefined;
  let isFirst = true;

  /** Appends to the incomplete line, and enlarges its buffer to `capacity` bytes if necessary. */
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

  /** Adds a part of an incomplete line. */
  function keep(part: Buffer): void {
    const length = waiting + part.length;
    if (discarding) {
      discarding.bytes += part.length;
      discarding.tail = endOf(discarding.tail, part);
      freeBuffer(part);
    } else if (length > options.maxLineBytes) {
      const before = held.subarray(0, waiting);
      discarding = {
        head: startOf(before, part),
        tail: endOf(endOf(nothing, before), part),
        bytes: length,
      };
      release();
    } else if (waiting === 0) {
      held = part;
      waiting = length;
    } else {
      // Doubling keeps copying linear, and avoids an object per byte for a line that arrives byte by byte.
      append(part, Math.min(2 * length, options.maxLineBytes));
    }
  }

  /** Adds the last part of a line. */
  function finish(part: Buffer): void {
    const startsStream = isFirst;
    isFirst = false;
    if (discarding || waiting + part.length > options.maxLineBytes) {
      keep(part);
      if (discarding) on.oversized(discarding.head, discarding.tail, discarding.bytes);
      discarding = undefined;
      return;
    }
    let line = part;
    if (waiting > 0) {
      append(part, waiting + part.length);
      line = held.subarray(0, waiting);
      release();
    }
    on.line(startsStream ? withoutMark(line) : line);
  }

  return {
    /** Splits a chunk, and takes ownership of it. Returns its rest if a line of it caused a pause. */
    push(chunk: Buffer): Buffer | undefined {
      let from = 0;
      let end = chunk.indexOf(0x0a);
      while (end >= 0) {
        finish(chunk.subarray(from, end));
        from = end + 1;
        if (on.isPaused?.() && from < chunk.length) return chunk.subarray(from);
        end = chunk.indexOf(0x0a, from);
      }
      if (from < chunk.length) keep(from === 0 ? chunk : chunk.subarray(from));
      return undefined;
    },
    /** Call this at the end of the stream. Returns the last line if it has no line break; its start if oversized. */
    end(): Buffer {
      const last = discarding?.head ?? held.subarray(0, waiting);
      const rest = isFirst ? withoutMark(last) : last;
      release();
      discarding = undefined;
      return rest;
    },
  };
}

/** Returns the start of two consecutive parts of an oversized message. */
export function startOf(before: Buffer, part: Buffer): Buffer {
  const [first, second] = [before.subarray(0, keptBytes), part.subarray(0, keptBytes)];
  return Buffer.concat([first, second]).subarray(0, keptBytes);
}

export function endOf(before: Buffer, part: Buffer): Buffer {
  return part.length >= keptBytes
    ? Buffer.from(part.subarray(-keptBytes))
    : Buffer.concat([before, part]).subarray(-keptBytes);
}

/** Removes the byte order mark that a stream may begin with. */
export function withoutMark(line: Buffer): Buffer {
  return line[0] === 0xef && line[1] === 0xbb && line[2] === 0xbf ? line.subarray(3) : line;
}
