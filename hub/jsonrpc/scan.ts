/** Where a value stands in the bytes of a message: `start` is its first byte, `end` the one after its last. */
export type Span = { readonly start: number; readonly end: number };

/** Values nested deeper than this are refused, so that a hostile message cannot exhaust the stack. */
export const maxDepth = 512;

const quote = 0x22;
const backslash = 0x5c;

/** The index of the first byte at or after `at` that is not JSON white space. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/**
 * The index after the JSON value that begins at `at`, or -1 where the bytes are not JSON (RFC 8259).
 * It accepts exactly what JSON.parse accepts, up to `maxDepth`, without building any value: payloads
 * are checked and stepped over, never parsed. UTF-8 is checked elsewhere, once for the whole message.
 */
export function skipValue(bytes: Uint8Array, at: number, depth = 0): number {
  switch (bytes[at]) {
    case quote:
      return skipString(bytes, at);
    case 0x7b:
      return depth < maxDepth ? skipObject(bytes, at, depth + 1) : -1;
    case 0x5b:
      return depth < maxDepth ? skipArray(bytes, at, depth + 1) : -1;
    case 0x74:
      return skipWord(bytes, at, 0x72, 0x75, 0x65);
    case 0x66:
      return bytes[at + 1] === 0x61 ? skipWord(bytes, at + 1, 0x6c, 0x73, 0x65) : -1;
    case 0x6e:
      return skipWord(bytes, at, 0x75, 0x6c, 0x6c);
    default:
      return skipNumber(bytes, at);
  }
}

function skipObject(bytes: Uint8Array, at: number, depth: number): number {
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === 0x7d) return at + 1;
  for (;;) {
    if (bytes[at] !== quote) return -1;
    at = skipString(bytes, at);
    if (at < 0) return -1;
    at = skipSpace(bytes, at);
    if (bytes[at] !== 0x3a) return -1;
    at = skipValue(bytes, skipSpace(bytes, at + 1), depth);
    if (at < 0) return -1;
    at = skipSpace(bytes, at);
    if (bytes[at] === 0x7d) return at + 1;
    if (bytes[at] !== 0x2c) return -1;
    at = skipSpace(bytes, at + 1);
  }
}

function skipArray(bytes: Uint8Array, at: number, depth: number): number {
  at = skipSpace(bytes, at + 1);
  if (bytes[at] === 0x5d) return at + 1;
  for (;;) {
    at = skipValue(bytes, at, depth);
    if (at < 0) return -1;
    at = skipSpace(bytes, at);
    if (bytes[at] === 0x5d) return at + 1;
    if (bytes[at] !== 0x2c) return -1;
    at = skipSpace(bytes, at + 1);
  }
}

/** The index after the string whose opening quote stands at `at`, or -1. */
export function skipString(bytes: Uint8Array, at: number): number {
  at = skipPlain(bytes, at + 1);
  while (bytes[at] === backslash) {
    at = skipEscape(bytes, at + 1);
    if (at < 0) return -1;
    at = skipPlain(bytes, at + 1);
  }
  return bytes[at] === quote ? at + 1 : -1;
}

/** 1 for each byte that does not just stand in a string for itself. */
const special = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === quote || byte === backslash ? 1 : 0,
);
const isSpecial = (byte = 0) => special[byte] ?? 1;

/** What is plain for so long is mostly plain for long, as images are: then a view of its words pays. */
const nearBytes = 256;

/** The index of the first special byte at or after `at`. Most of a payload goes through here. */
function skipPlain(bytes: Uint8Array, at: number): number {
  const { length } = bytes;
  const near = at + nearBytes;
  at = skipFours(bytes, at, Math.min(near, length));
  if (at + 4 > near && length - at > nearBytes) at = skipWords(bytes, at);
  at = skipFours(bytes, at, length);
  while (at < length && isSpecial(bytes[at]) === 0) at++;
  return at;
}

/** An index before which no byte is special, in steps of four, and less than four before one that is or the end. */
function skipFours(bytes: Uint8Array, at: number, end: number): number {
  while (
    at + 4 <= end &&
    (isSpecial(bytes[at]) |
      isSpecial(bytes[at + 1]) |
      isSpecial(bytes[at + 2]) |
      isSpecial(bytes[at + 3])) ===
      0
  )
    at += 4;
  return at;
}

/**
 * An index before which no byte is special, near the first that is. Sixteen bytes at a time: where a byte
 * of a word is below a space, `word - 0x20202020` has its highest bit set, and a quote or backslash is a 0
 * after an exclusive or, which is found likewise (H. S. Warren, Hacker's Delight, section 6-1).
 */
function skipWords(bytes: Uint8Array, at: number): number {
  const aligned = at + (-(bytes.byteOffset + at) & 3);
  for (; at < aligned; at++) if (isSpecial(bytes[at]) !== 0) return at;
  const words = new Int32Array(bytes.buffer, bytes.byteOffset + at, (bytes.length - at) >> 2);
  const last = words.length - 3;
  let index = 0;
  while (
    index < last &&
    ((marksOf(words[index]) |
      marksOf(words[index + 1]) |
      marksOf(words[index + 2]) |
      marksOf(words[index + 3])) &
      0x80808080) ===
      0
  )
    index += 4;
  return at + index * 4;
}

/**
 * The highest bit of each byte of a word that is special, and perhaps of bytes after one that is. That it was not set
 * before is asked once for all three, as neither exclusive or changes it.
 */
function marksOf(word = 0): number {
  const below = word - 0x20202020;
  const quotes = (word ^ 0x22222222) - 0x01010101;
  const backslashes = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (below | quotes | backslashes) & ~word;
}

/** The index of the last byte of the escape whose letter stands at `at`, or -1. */
function skipEscape(bytes: Uint8Array, at: number): number {
  switch (bytes[at]) {
    case quote:
    case backslash:
    case 0x2f:
    case 0x62:
    case 0x66:
    case 0x6e:
    case 0x72:
    case 0x74:
      return at;
    case 0x75:
      for (let digit = 1; digit <= 4; digit++) if (!isHex(bytes[at + digit])) return -1;
      return at + 4;
    default:
      return -1;
  }
}

function skipWord(bytes: Uint8Array, at: number, second: number, third: number, last: number) {
  return bytes[at + 1] === second && bytes[at + 2] === third && bytes[at + 3] === last
    ? at + 4
    : -1;
}

function skipNumber(bytes: Uint8Array, at: number): number {
  if (bytes[at] === 0x2d) at++;
  if (bytes[at] === 0x30) at++;
  else if ((at = skipDigits(bytes, at)) < 0) return -1;
  if (bytes[at] === 0x2e && (at = skipDigits(bytes, at + 1)) < 0) return -1;
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at++;
    if (bytes[at] === 0x2b || bytes[at] === 0x2d) at++;
    at = skipDigits(bytes, at);
  }
  return at;
}

/** The index after a run of digits, or -1 where there is none. */
function skipDigits(bytes: Uint8Array, at: number): number {
  const from = at;
  while (isDigit(bytes[at])) at++;
  return at === from ? -1 : at;
}

const isDigit = (byte = 0) => byte >= 0x30 && byte <= 0x39;
const isHex = (byte = 0) =>
  isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
