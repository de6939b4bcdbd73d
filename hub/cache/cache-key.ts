import { hash } from 'node:crypto';

/** Part of every key. A new version finds no entries of the one before. */
const version = 'agenthub-cache-1;';

/** At least the bytes of a field's length, its colon and its semicolon. */
const roomForLength = 20;

/**
 * The key of an answer: SHA-256 of all fields that the answer depends on, in hexadecimal digits. Different lists
 * have different keys, also if their fields read the same one after the other; undefined differs from ''.
 */
export function cacheKey(fields: readonly (string | undefined)[]): string {
  let room = version.length;
  for (const field of fields) room += roomForLength + 2 * (field?.length ?? 0);
  // One buffer: every hit computes a key.
  const bytes = Buffer.allocUnsafe(room);
  let at = bytes.write(version, 'latin1');
  for (const field of fields)
    if (field === undefined) at += bytes.write('-;', at, 'latin1');
    else {
      at += bytes.write(`${field.length}:`, at, 'latin1');
      // UTF-16, because UTF-8 writes all halves of surrogate pairs as the same character.
      at += bytes.write(field, at, 'utf16le');
      at += bytes.write(';', at, 'latin1');
    }
  return hash('sha256', bytes.subarray(0, at));
}
