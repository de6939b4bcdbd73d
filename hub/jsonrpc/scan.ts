/** Position of a value in a message: `start` is the index of its first byte, `end` the index after its last byte. */
export type Span = { readonly start: number; readonly end: number };

/** Maximum nesting depth, so that a malicious message cannot overflow the stack. */
export const maxDepth = 512;

const quote = 0x22;
const backslash = 0x5c;

/** Returns the index of the first byte from `at` that is not JSON white space. */
export function skipSpace(bytes: Uint8Array, at: number): number {
  for (;;) {
    const byte = bytes[at];
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return at;
    at++;
  }
}

/**
 * Returns the index after the JSON value at `at`, or -1 for invalid JSON (RFC 8259). Accepts exactly the same text as
 * JSON.parse, up to `maxDepth`, without building values. Does not validate UTF-8, which is done once per message.
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

/** Returns the index after the string whose opening quote is at `at`, or -1. */
export function skipString(bytes: Uint8Array, at: number): number {
  at = skipPlain(bytes, at + 1);
  while (bytes[at] === backslash) {
    at = skipEscape(bytes, at + 1);
    if (at < 0) return -1;
    at = skipPlain(bytes, at + 1);
  }
  return bytes[at] === quote ? at + 1 : -1;
}

/** 1 for each byte that has a special meaning in strings. */
const special = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte < 0x20 || byte === quote || byte === backslash ? 1 : 0,
);
const isSpecial = (byte = 0) => special[byte] ?? 1;

/** Number of plain bytes after which long plain text such as an image is likely, and a view of its words pays off. */
const nearBytes = 256;

/** Returns the index of the first special byte from `at`. Most bytes of a payload pass through this function. */
function skipPlain(bytes: Uint8Array, at: number): number {
  const { length } = bytes;
  const near = at + nearBytes;
  at = skipFours(bytes, at, Math.min(near, length));
  if (at + 4 > near && length - at > nearBytes) at = skipWords(bytes, at);
  at = skipFours(bytes, at, length);
  while (at < length && isSpecial(bytes[at]) === 0) at++;
  return at;
}

/**
 * Returns an index less than four bytes before the first special byte, or before the end. Reads four bytes at a time.
 */
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
 * Returns an index shortly before the first special byte. Reads sixteen bytes at a time: if a byte of a word is below
 * a space, its highest bit is set in `word - 0x20202020`. XOR turns a quote or backslash into 0, which is found in the
 * same way (H. S. Warren, Hacker's Delight, section 6-1).
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
 * Sets the highest bit of each special byte of a word, and possibly of bytes after it. XOR does not change the highest
 * bits, so they are tested once for all three comparisons.
 */
function marksOf(word = 0): number {
  const below = word - 0x20202020;
  const quotes = (word ^ 0x22222222) - 0x01010101;
  const backslashes = (word ^ 0x5c5c5c5c) - 0x01010101;
  return (below | quotes | backslashes) & ~word;
}

/** Returns the index of the last byte of the escape whose letter is at `at`, or -1. */
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

/** Returns the index after a sequence of digits, or -1 if there is none. */
function skipDigits(bytes: Uint8Array, at: number): number {
  const from = at;
  while (isDigit(bytes[at])) at++;
  return at === from ? -1 : at;
}

const isDigit = (byte = 0) => byte >= 0x30 && byte <= 0x39;
const isHex = (byte = 0) =>
  isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
