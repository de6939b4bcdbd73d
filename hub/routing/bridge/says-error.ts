import { type Span, membersOf } from '#jsonrpc';

/** In larger results the flag is looked for at both ends only, by its text alone. */
const maxSearchedBytes = 64 * 1024;
const endBytes = 1024;

const flag = Buffer.from('"isError"');
/** The letter in it that stands in few texts, and where: one letter is looked for in a fifth of the time. */
const letter = 0x45;
const letterAt = 3;
/** Where the letter stands in many places, all of the flag is looked for. */
const maxLetters = 8;

/**
 * Whether the result of a tool says that the tool has failed. The bytes are searched for the flag, and read
 * as JSON only where it is there and true. In a result above 64 KiB a nested member of that name within a
 * kilobyte of its ends is taken for it, and one that is in the middle is missed: nobody writes it there.
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

/** Whether a member of that name is true anywhere between `start` and `end`. */
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

/** Whether the flag stands there, and behind it that it is true. */
function isTrueAfter(bytes: Buffer, at: number): boolean {
  for (let index = 0; index < flag.length; index++)
    if (bytes[at + index] !== flag[index]) return false;
  let value = at + flag.length;
  while (bytes[value] === 0x20 || bytes[value] === 0x3a || bytes[value] === 0x09) value++;
  return bytes[value] === 0x74;
}

/** No other value of JSON begins with this letter. */
const isTrue = (bytes: Buffer, span: Span | undefined) =>
  span !== undefined && bytes[span.start] === 0x74;
