import { Buffer } from 'node:buffer';
import { type Span, skipSpace, skipString, skipValue } from './scan.ts';

/** What stands in nearly every message: comparing it takes a tenth of the time of decoding it. */
const usual = [
  'id',
  'name',
  '_meta',
  'method',
  'params',
  'result',
  'jsonrpc',
  'arguments',
  'tools/call',
];

/** The value of the JSON string between `start` and `end`, quotes included. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  for (const text of usual) if (holds(bytes, start + 1, end - 1, text)) return text;
  const inner = bytes.toString('utf8', start + 1, end - 1);
  return inner.includes('\\') ? String(JSON.parse(bytes.toString('utf8', start, end))) : inner;
}

/** True where these bytes are that ASCII text. */
export function holds(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let at = 0; at < text.length; at++)
    if (bytes[start + at] !== text.charCodeAt(at)) return false;
  return true;
}

/** The bytes of a value as text, as they stand in the message. */
export function rawText(bytes: Buffer, span: Span): string {
  return bytes.toString('utf8', span.start, span.end);
}

/** The parsed value of a span. For policy and for small values only: payloads are not parsed. */
export function valueOf(bytes: Buffer, span: Span | undefined): unknown {
  return span && JSON.parse(bytes.toString('utf8', span.start, span.end));
}

/** The value of a span that holds a JSON string, else undefined. */
export function stringAt(bytes: Buffer, span: Span | undefined): string | undefined {
  return span && bytes[span.start] === 0x22 ? textOf(bytes, span.start, span.end) : undefined;
}

/**
 * The members of the object in a span, by name. Undefined where it is no object or has a name twice:
 * two readers could take such an object for two different things.
 */
export function membersOf(
  bytes: Buffer,
  object: Span | undefined,
): ReadonlyMap<string, Span> | undefined {
  const members = new Map<string, Span>();
  if (!object || bytes[object.start] !== 0x7b) return undefined;
  let at = skipSpace(bytes, object.start + 1);
  while (bytes[at] !== 0x7d) {
    const key = at;
    at = bytes[at] === 0x22 ? skipString(bytes, at) : -1;
    const colon = at < 0 ? -1 : skipSpace(bytes, at);
    if (bytes[colon] !== 0x3a) return undefined;
    const name = textOf(bytes, key, at);
    const start = skipSpace(bytes, colon + 1);
    const end = skipValue(bytes, start);
    if (end < 0 || members.has(name)) return undefined;
    members.set(name, { start, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1);
  }
  return members;
}

/** The elements of the array in a span, the first `limit` of them. Empty where it is no array. */
export function elementsOf(
  bytes: Buffer,
  array: Span | undefined,
  limit = Infinity,
): readonly Span[] {
  const elements: Span[] = [];
  if (!array || bytes[array.start] !== 0x5b) return elements;
  let at = skipSpace(bytes, array.start + 1);
  while (bytes[at] !== 0x5d && elements.length < limit) {
    const end = skipValue(bytes, at);
    if (end < 0) return [];
    elements.push({ start: at, end });
    at = skipSpace(bytes, end);
    if (bytes[at] === 0x2c) at = skipSpace(bytes, at + 1);
  }
  return elements;
}

/** A replacement of one span by other JSON text. */
export type Edit = { readonly span: Span; readonly text: string };

/** The bytes with some spans replaced and everything else untouched. Spans may not overlap. */
export function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const ordered = inOrder(edits);
  let length = bytes.length;
  for (const { span, text } of ordered) length += Buffer.byteLength(text) - (span.end - span.start);
  const out = Buffer.allocUnsafe(length);
  let from = 0;
  let to = 0;
  for (const { span, text } of ordered) {
    to += bytes.copy(out, to, from, span.start);
    to += out.write(text, to);
    from = span.end;
  }
  bytes.copy(out, to, from);
  return out;
}

/** What is shorter is copied: that costs little, and in place it would hold on to all that it came with. */
const largeBytes = 4096;

/**
 * The bytes with one span replaced, whose memory is the function's from here on: where the text is not longer
 * than the span, only the shorter side of a large message is moved.
 */
export function replace(bytes: Buffer, { start, end }: Span, text: string): Buffer {
  const spare = end - start - Buffer.byteLength(text);
  if (spare < 0 || bytes.length < largeBytes)
    return splice(bytes, [{ span: { start, end }, text }]);
  if (start <= bytes.length - end) {
    bytes.copyWithin(spare, 0, start);
    bytes.write(text, start + spare);
    return bytes.subarray(spare);
  }
  bytes.write(text, start);
  bytes.copyWithin(end - spare, end);
  return bytes.subarray(0, bytes.length - spare);
}

/** By hand: for the two or three edits of a call toSorted takes more memory than all else done for it. */
function inOrder(edits: readonly Edit[]): readonly Edit[] {
  const ordered: Edit[] = [];
  for (const edit of edits) {
    let at = ordered.length;
    for (let before = ordered[at - 1]; before && before.span.start > edit.span.start;) {
      ordered[at] = before;
      before = ordered[--at - 1];
    }
    ordered[at] = edit;
  }
  return ordered;
}
