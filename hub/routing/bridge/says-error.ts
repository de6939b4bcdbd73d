import { type Span, membersOf } from '#jsonrpc';

/** In larger results, only the first and last `endBytes` are searched, by text alone. */
const maxSearchedBytes = 64 * 1024;
const endBytes = 1024;

const flag = Buffer.from('"isError"');
/** A letter of the flag that is rare in text, and its index. Searching for one letter takes a fifth of the time. */
const letter = 0x45;
const letterAt = 3;
/** If the letter occurs more often than this, the whole flag is searched for. */
const maxLetters = 8;

/**
 * True if the result of a tool reports an error. The bytes are searched for the flag, and parsed as JSON only if the
 * flag is present and true. In a result above 64 KiB, a nested `isError` within a kilobyte of either end counts as
 * the flag, and a flag in the middle is missed. Servers do not write the flag there.
 */
export function saysError(bytes: Buffer, result: Span): boolean {
  const { start, end } = result;
  if (end - start <= maxSearchedBytes)
    return isRaised(bytes, start, end) && isTrue(bytes, membersOf(bytes, result)?.get('isError'));
  return (
    isRaised(bytes.subarray(0, start + endBytes), start, start + endBytes) ||
    isRaised(bytes, end - endBytes, end)
  );
}

/** True if a true member of that name stands between `start` and `end`. */
function isRaised(bytes: Buffer, start: number, end: number): boolean {
  let at = start;
  for (let letters = 0; letters < maxLetters; letters++) {
    at = bytes.indexOf(letter, at);
    if (at < 0 || at >= end) return false;
    if (isTrueAfter(bytes, at - letterAt)) return true;
    at++;
  }
  for (at = bytes.indexOf(flag, at); at >= 0 && at < end; at = bytes.indexOf(flag, at + 1))
    if (isTrueAfter(bytes, at)) return true;
  return false;
}

/** True if the flag stands at `at`, followed by `true`. */
function isTrueAfter(bytes: Buffer, at: number): boolean {
  for (let index = 0; index < flag.length; index++)
    if (bytes[at + index] !== flag[index]) return false;
  let value = at + flag.length;
  while (bytes[value] === 0x20 || bytes[value] === 0x3a || bytes[value] === 0x09) value++;
  return bytes[value] === 0x74;
}

/** `true` is the only JSON value that begins with this letter. */
const isTrue = (bytes: Buffer, span: Span | undefined) =>
  span !== undefined && bytes[span.start] === 0x74;
