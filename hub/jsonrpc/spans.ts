import { Buffer } from 'node:buffer';
import { type Span, skipSpace, skipString, skipValue } from './scan.ts';

/** Strings that occur in nearly every message. Comparing takes a tenth of the time of decoding. */
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

/** Decodes the JSON string between `start` and `end`, which includes the quotes. */
export function textOf(bytes: Buffer, start: number, end: number): string {
  for (const text of usual) if (holds(bytes, start + 1, end - 1, text)) return text;
  const inner = bytes.toString('utf8', start + 1, end - 1);
  return inner.includes('\\') ? String(JSON.parse(bytes.toString('utf8', start, end))) : inner;
}

/** True if the bytes equal the ASCII text. */
export function holds(bytes: Buffer, start: number, end: number, text: string): boolean {
  if (end - start !== text.length) return false;
  for (let at = 0; at < text.length; at++)
    if (bytes[start + at] !== text.charCodeAt(at)) return false;
  return true;
}

/** Returns the JSON text of a value. */
export function rawText(bytes: Buffer, span: Span): string {
  return bytes.toString('utf8', span.start, span.end);
}

/** Parses the value of a span. Only for small values: payloads are not parsed. */
export function valueOf(bytes: Buffer, span: Span | undefined): unknown {
  return span && JSON.parse(bytes.toString('utf8', span.start, span.end));
}

/** Decodes a span that contains a JSON string; undefined for any other value. */
export function stringAt(bytes: Buffer, span: Span | undefined): string | undefined {
  return span && bytes[span.start] === 0x22 ? textOf(bytes, span.start, span.end) : undefined;
}

/** Returns the members of an object, by name. Undefined for duplicate names, which parsers interpret differently. */
export function membersOf(
  bytes: Buffer,
  object: Span | undefined,
): ReadonlyMap<string, Span> | undefined {
  if (!object || bytes[object.start] !== 0x7b) return undefined;
  const members = new Map<string, Span>();
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

/** Returns the first `limit` elements of the array in a span; an empty array for any other value. */
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

/** Replacement of a span by JSON text. */
export type Edit = { readonly span: Span; readonly text: string };

/** Replaces spans, which must not overlap, and copies all other bytes. */
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

/**
 * Size in bytes from which a message is edited in place. Smaller messages are copied: that is cheap, and editing in
 * place would keep their whole chunk in memory.
 */
const largeBytes = 4096;

/**
 * Replaces one span, and takes ownership of the bytes: if the text is not longer than the span, only the shorter side
 * of a large message is moved.
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

/** Insertion sort: for the two or three edits of a call, toSorted allocates more memory than the rest of the work. */
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

/** Members of an object as JSON text, by name. */
export type Members = Readonly<Record<string, string>>;

/**
 * Returns edits that set members of the object in `span`, or insert them at its start. `present`: the result of
 * `membersOf`.
 */
export function setMembers(
  span: Span,
  present: ReadonlyMap<string, Span>,
  members: Members,
): readonly Edit[] {
  const edits: Edit[] = [];
  const added: string[] = [];
  for (const [name, text] of Object.entries(members)) {
    const there = present.get(name);
    if (there) edits.push({ span: there, text });
    else added.push(`${JSON.stringify(name)}:${text}`);
  }
  if (added.length === 0) return edits;
  const at = span.start + 1;
  const text = `${added.join(',')}${present.size > 0 ? ',' : ''}`;
  return [{ span: { start: at, end: at }, text }, ...edits];
}

/** Returns edits that remove members from the object in `span`. */
export function dropMembers(
  bytes: Buffer,
  span: Span,
  present: ReadonlyMap<string, Span>,
  names: ReadonlySet<string>,
): readonly Edit[] {
  const edits: Edit[] = [];
  let isFirst = true;
  /** End of the previous member. */
  let from = span.start + 1;
  for (const [name, { end }] of present) {
    if (!names.has(name)) {
      // Also removes the comma after members that were removed before the first remaining one.
      if (isFirst && from > span.start + 1)
        edits.push({
          span: { start: span.start + 1, end: bytes.indexOf(0x2c, from) + 1 },
          text: '',
        });
      isFirst = false;
    } else if (!isFirst) edits.push({ span: { start: from, end }, text: '' });
    from = end;
  }
  return isFirst ? [{ span: { start: span.start + 1, end: from }, text: '' }] : edits;
}

/** The bytes of a response. Consists of pieces if one of them is shared with other responses. */
export type ReplyBytes = Buffer | readonly Buffer[];

/** Joins the pieces of a response. */
export function whole(reply: ReplyBytes): Buffer {
  return Buffer.isBuffer(reply) ? reply : Buffer.concat(reply);
}
