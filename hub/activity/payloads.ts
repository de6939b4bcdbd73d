import { Buffer } from 'node:buffer';

/** The bytes of a message, in one piece or in several. */
export type Bytes = Buffer | readonly Buffer[];

/** The beginnings of messages, the newest of them, in one piece of memory. */
export interface Payloads {
  /** Keeps the beginning of both messages, and says where. */
  keep(first: Bytes, second: Bytes): Place;
  /** What is kept there; undefined once others have taken its place. */
  read(place: Place): { readonly first: Buffer; readonly second: Buffer } | undefined;
}

/** Where two beginnings stand, one behind the other. */
export type Place = {
  /** Counted from the very first byte, over all rounds. */
  readonly from: number;
  readonly firstBytes: number;
  readonly secondBytes: number;
};

/**
 * A ring of bytes that is written over from the start when it is full: what is kept takes no memory of its
 * own, nor any work of the garbage collector. It holds at least two beginnings of `maxKeptBytes`.
 */
export function createPayloads(maxBytes: number, maxKeptBytes: number): Payloads {
  // The system gives memory for it when it is written, and not before.
  const ring = Buffer.alloc(Math.max(maxBytes, 2 * maxKeptBytes));
  let written = 0;

  function copy(bytes: Bytes, at: number): number {
    if (Buffer.isBuffer(bytes)) return bytes.copy(ring, at, 0, maxKeptBytes);
    let copied = 0;
    for (const part of bytes) copied += part.copy(ring, at + copied, 0, maxKeptBytes - copied);
    return copied;
  }

  return {
    keep(first, second) {
      const left = ring.length - (written % ring.length);
      // Neither is divided: what may not fit is written at the start.
      if (left < 2 * maxKeptBytes) written += left;
      const from = written;
      const at = from % ring.length;
      const firstBytes = copy(first, at);
      const secondBytes = copy(second, at + firstBytes);
      written += firstBytes + secondBytes;
      return { from, firstBytes, secondBytes };
    },
    read({ from, firstBytes, secondBytes }) {
      if (written - from > ring.length) return undefined;
      const at = from % ring.length;
      const middle = at + firstBytes;
      return {
        first: ring.subarray(at, middle),
        second: ring.subarray(middle, middle + secondBytes),
      };
    },
  };
}

/** How long it is, in bytes. */
export function lengthOf(bytes: Bytes): number {
  if (Buffer.isBuffer(bytes)) return bytes.length;
  let length = 0;
  for (const part of bytes) length += part.length;
  return length;
}
