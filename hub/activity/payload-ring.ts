import { Buffer } from 'node:buffer';
import type { Bytes } from './call.ts';

/** Position of the stored beginnings of a call's two messages, which are adjacent in the ring. */
export type PayloadRange = {
  /** Offset of the first byte, counted continuously across all rounds of the ring. */
  readonly from: number;
  readonly firstBytes: number;
  readonly secondBytes: number;
};

/** Position that stands for messages that are not stored. */
export const noPayload: PayloadRange = { from: -1, firstBytes: 0, secondBytes: 0 };

/** Creates a ring that stores the beginnings of the newest messages over the oldest ones, without allocations. */
export function createPayloadRing(maxBytes: number, maxKeptBytes: number) {
  // The operating system commits these pages only when they are written.
  const ring = Buffer.alloc(Math.max(maxBytes, 2 * maxKeptBytes));
  let written = 0;

  function copy(bytes: Bytes, at: number): number {
    if (Buffer.isBuffer(bytes)) return bytes.copy(ring, at, 0, maxKeptBytes);
    let copied = 0;
    for (const part of bytes) copied += part.copy(ring, at + copied, 0, maxKeptBytes - copied);
    return copied;
  }

  return {
    /** Copies the beginnings of both messages into the ring, and returns their position. */
    write(first: Bytes, second: Bytes): PayloadRange {
      const left = ring.length - (written % ring.length);
      // Messages never wrap around: if both might not fit before the end of the ring, they go to its start.
      if (left < 2 * maxKeptBytes) written += left;
      const from = written;
      const at = from % ring.length;
      const firstBytes = copy(first, at);
      const secondBytes = copy(second, at + firstBytes);
      written += firstBytes + secondBytes;
      return { from, firstBytes, secondBytes };
    },
    /** Returns the stored beginnings at a position; undefined if newer messages have overwritten them. */
    read({ from, firstBytes, secondBytes }: PayloadRange) {
      if (from < 0 || written - from > ring.length) return undefined;
      const at = from % ring.length;
      const middle = at + firstBytes;
      return {
        first: ring.subarray(at, middle),
        second: ring.subarray(middle, middle + secondBytes),
      };
    },
  };
}
