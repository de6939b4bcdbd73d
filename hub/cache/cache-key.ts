import { hash } from 'node:crypto';

/** Prefix of the bytes that are hashed. A new version never finds entries of an old one. */
const version = 'agenthub-cache-1;';

/** Upper bound for the bytes of a field's length, its colon and its semicolon. */
const roomForLength = 20;

/**
 * Returns the cache key of an answer: the SHA-256 in hex of all fields that the answer depends on. Lengths are hashed,
 * too: `['ab', 'c']` and `['a', 'bc']` get different keys, and so do undefined and ''.
 */
export function cacheKey(fields: readonly (string | undefined)[]): string {
  let room = version.length;
  for (const field of fields) room += roomForLength + 2 * (field?.length ?? 0);
  // A single buffer, because a key is computed at each hit.
  const bytes = Buffer.allocUnsafe(room);
  let at = bytes.write(version, 'latin1');
  for (const field of fields)
    if (field === undefined) at += bytes.write('-;', at, 'latin1');
    else {
      at += bytes.write(`${field.length}:`, at, 'latin1');
      // UTF-16, because UTF-8 encodes every lone surrogate as the same character.
      at += bytes.write(field, at, 'utf16le');
      at += bytes.write(';', at, 'latin1');
    }
  return hash('sha256', bytes.subarray(0, at));
}
