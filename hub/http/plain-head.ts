import { Buffer } from 'node:buffer';
import type { IncomingHttpHeaders } from 'node:http';

/** The head of a POST of JSON that every parser reads in the same way. */
export type PlainHead = {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** The bytes before and after the digits of Content-Length. Heads that differ only in these digits count as equal. */
  readonly before: Buffer;
  readonly after: Buffer;
};

export type PlainBody = {
  readonly body: Buffer;
  /** Number of bytes that have not arrived; below 0 if more bytes arrived than the body has. */
  readonly missing: number;
};

const headEnd = Buffer.from('\r\n\r\n');
/** Maximum size of a head in bytes. Node's limit is more than twice as high. */
const maxHeadBytes = 8 * 1024;
const line = '\r\n';
const printable = /^[\x20-\x7e]+$/;
/** Matches a field name, a colon, at most one space, and a value without surrounding space (RFC 9110, section 5.5). */
const field = /^([!#$%&'*+.^_`|~\dA-Za-z-]+): ?(\S|\S.*\S)$/;
const requestLine = /^POST (\/[\w./~-]*) HTTP\/1\.1$/;
const lengthField = 'content-length';
const mostDigits = 9;
const length = new RegExp(`^\\d{1,${mostDigits}}$`);
/** Headers that change the framing of the body or the connection. */
const unusual = new Set([
  'expect',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);
/** Maximum number of headers. Node refuses or omits headers only above more than ten times this number. */
const maxHeaders = 100;

/**
 * Parses the head at the start of these bytes. Undefined for anything ambiguous or unusual, and for requests of
 * browsers, which Node's parser reads.
 */
export function parsePlainHead(bytes: Buffer): PlainHead | undefined {
  const end = bytes.indexOf(headEnd);
  if (end < 0 || end > maxHeadBytes) return undefined;
  const head = bytes.toString('latin1', 0, end);
  const [first = '', ...rest] = head.split(line);
  const url = requestLine.exec(first)?.[1];
  if (url === undefined || rest.length > maxHeaders) return undefined;
  const headers = new Map<string, string>();
  let at = first.length;
  let cut = 0;
  let digits = '';
  for (const text of rest) {
    at += line.length;
    const [, written = '', value = ''] = (printable.test(text) && field.exec(text)) || [];
    const name = written.toLowerCase();
    if (name === '' || headers.has(name) || unusual.has(name)) return undefined;
    headers.set(name, value);
    at += text.length;
    if (name === lengthField) {
      digits = value;
      cut = at - value.length;
    }
  }
  const isPlain =
    length.test(digits) &&
    headers.get('content-type') === 'application/json' &&
    (headers.get('connection') ?? 'keep-alive') === 'keep-alive' &&
    !headers.has('origin');
  // Copies the bytes, because a view would keep the larger chunk in memory.
  const copy = (from: number, to: number) => Buffer.from(bytes.subarray(from, to));
  return isPlain
    ? {
        url,
        headers: Object.fromEntries(headers),
        before: copy(0, cut),
        after: copy(cut + digits.length, end + headEnd.length),
      }
    : undefined;
}

/** Returns the body, if the head differs from a known head only in Content-Length; otherwise undefined. */
export function bodyUnder(bytes: Buffer, { before, after }: PlainHead): PlainBody | undefined {
  const isSame = bytes.length > before.length && before.compare(bytes, 0, before.length) === 0;
  if (!isSame) return undefined;
  let at = before.length;
  let bodyBytes = 0;
  for (; at < before.length + mostDigits; at++) {
    const digit = (bytes[at] ?? 0) - 0x30;
    if (digit < 0 || digit > 9) break;
    bodyBytes = 10 * bodyBytes + digit;
  }
  if (at === before.length) return undefined;
  for (const byte of after) if (bytes[at++] !== byte) return undefined;
  const body = bytes.subarray(at);
  return { body, missing: bodyBytes - body.length };
}
