import { Buffer } from 'node:buffer';

/** Smaller buffers may share their memory with others, and are not worth the call. */
const leastBytes = 16 * 1024;

/**
 * Frees the memory of a buffer at once, where the buffer is all that the memory holds. V8 keeps tens of megabytes of
 * such buffers before it collects them, and the C library keeps most of what they took. Nothing may read the buffer
 * after this.
 */
export function freeBuffer({ buffer, byteLength }: Buffer): void {
  if (byteLength < leastBytes || byteLength !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer && !buffer.resizable) buffer.transfer(0);
}

/**
 * Moves a buffer that may stay for long to pages of its own, which the operating system gets back when the buffer is
 * collected: the C library keeps the memory of small allocations. The original is freed. Small ones stay.
 */
export function moveToPages(bytes: Buffer): Buffer {
  const { byteLength } = bytes;
  if (byteLength < leastBytes) return bytes;
  // V8 maps the memory of those that can be resized by itself, and allocates that of others.
  const pages = new ArrayBuffer(byteLength, { maxByteLength: byteLength });
  const moved = Buffer.from(pages, 0, byteLength);
  moved.set(bytes);
  freeBuffer(bytes);
  return moved;
}
