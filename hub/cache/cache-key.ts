import { createHash } from 'node:crypto';

/** Part of every key: what was kept under another reading of the fields is not found. */
const version = 'agenthub-cache-1;';

/**
 * The key of all that an answer depends on, in this order: SHA-256 in hexadecimal digits. Other fields have
 * another key, also where they read the same one behind the other; no field is not the empty field.
 */
export function cacheKey(fields: readonly (string | undefined)[]): string {
  const hash = createHash('sha256').update(version);
  for (const field of fields)
    if (field === undefined) hash.update('-;');
    // As UTF-16, because UTF-8 makes one of all halves of surrogate pairs.
    else hash.update(`${field.length}:`).update(field, 'utf16le').update(';');
  return hash.digest('hex');
}
