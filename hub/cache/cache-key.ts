import { hash } from 'node:crypto';

/** Part of every key: what was kept under another reading of the fields is not found. */
const version = 'agenthub-cache-1;';

/** Digits of the length of a field, its colon and its semicolon: more than any has. */
const roomForLength = 20;

/**
 * The key of all that an answer depends on, in this order: SHA-256 in hexadecimal digits. Other fields have
 * another key, also where they read the same one behind the other; no field is not the empty field.
 */
export function cacheKey(fields: readonly (string | undefined)[]): string {
  let room = version.length;
  for (const field of fields) room += roomForLength + 2 * (field?.length ?? 0);
  // Into one buffer: this is on the way of each hit.
  const bytes = Buffer.allocUnsafe(room);
  let at = bytes.write(version, 'latin1');
  for (const field of fields)
    if (field === undefined) at += bytes.write('-;', at, 'latin1');
    else {
      at += bytes.write(`${field.length}:`, at, 'latin1');
      // As UTF-16, because UTF-8 makes one of all halves of surrogate pairs.
      at += bytes.write(field, at, 'utf16le');
      at += bytes.write(';', at, 'latin1');
    }
  return hash('sha256', bytes.subarray(0, at));
}
