import { Buffer } from 'node:buffer';

/**
 * Minimum size in bytes of buffers to free: Node may allocate smaller ones from a shared pool, and freeing them early
 * saves little.
 */
const minBytes = 16 * 1024;

/**
 * Releases a buffer's memory immediately, if the buffer is the only user of its ArrayBuffer. Otherwise V8 holds tens of
 * megabytes of such buffers until its next collection, and malloc holds most of that memory afterwards. The buffer must
 * not be used after this call.
 */
export function freeBuffer({ buffer, byteLength }: Buffer): void {
  if (byteLength < minBytes || byteLength !== buffer.byteLength) return;
  if (buffer instanceof ArrayBuffer && !buffer.resizable) buffer.transfer(0);
}

/**
 * Copies a long-lived buffer to its own memory pages and frees the original. The operating system gets those pages back
 * when the copy is collected, while malloc holds the memory of small allocations. Buffers that are too small to benefit
 * are returned as they are.
 */
export function moveToPages(bytes: Buffer): Buffer {
  const { byteLength } = bytes;
  if (byteLength < minBytes) return bytes;
  // V8 maps the memory of a resizable ArrayBuffer directly; it allocates a fixed-length one with malloc.
  const pages = new ArrayBuffer(byteLength, { maxByteLength: byteLength });
  const moved = Buffer.from(pages, 0, byteLength);
  moved.set(bytes);
  freeBuffer(bytes);
  return moved;
}
