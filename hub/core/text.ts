import { isUtf8 } from 'node:buffer';

/** Returns a text as one word of a command for a POSIX shell. */
export const shellWord = (text: string): string =>
  /^[\w./@:+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

/** Decodes the UTF-8 text of a file. Returns undefined for a binary file. */
export function decodeText(content: Uint8Array): string | undefined {
  if (content.includes(0) || !isUtf8(content)) return undefined;
  return Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString();
}

/** Decodes percent escapes. Returns a text with an invalid one unchanged: it is not encoded. */
export function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // A percent sign in it begins no escape.
  }
}
