import { isUtf8 } from 'node:buffer';

/** The text of a file. Undefined for a binary one. */
export function decodeText(content: Uint8Array): string | undefined {
  if (content.includes(0) || !isUtf8(content)) return undefined;
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString();
}
