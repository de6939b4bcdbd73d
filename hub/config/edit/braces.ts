import type { Json } from '#core';
import {
  type Outline,
  type Splice,
  indentAt,
  indentUnitOf,
  isFirstOfLine,
  lineBreakOf,
  lineEnd,
  lineStart,
  nextLine,
} from '../outline.ts';

/** Comment syntax inside the braces. */
export type Comments = 'json' | 'yaml';

type Token = { readonly kind: 'comment' | 'comma'; readonly start: number; readonly end: number };

/** Adds an entry at the end of an object in braces. It goes on lines of its own if the existing entries do. */
export function insertInBraces(
  text: string,
  object: Outline,
  [key, value]: readonly [string, Json],
  comments: Comments,
): readonly Splice[] {
  const [first] = object.entries;
  const last = object.entries.at(-1);
  const lineBreak = lineBreakOf(text);
  const around = indentOfLine(text, object.start);
  if (!first || !last) {
    const tokens = tokensFrom(text, object.start + 1, object.end - 1, comments);
    const at = tokens.at(-1)?.end ?? object.start + 1;
    const indent = around + indentUnitOf(text);
    const rest = text.slice(at, object.end - 1);
    // Without comments, replace the white space between the braces.
    const end = tokens.length === 0 ? object.end - 1 : at;
    const closing = tokens.length > 0 && rest.includes('\n') ? '' : lineBreak + around;
    const put = lineBreak + indent + property(key, value, indent, text) + closing;
    return [{ start: at, end, text: put }];
  }
  const tokens = tokensFrom(text, last.end, object.end - 1, comments);
  const comma = tokens.find(({ kind }) => kind === 'comma');
  if (!isFirstOfLine(text, first.start))
    return [insertion(last.end, `, ${JSON.stringify(key)}: ${inOneLine(value)}`)];
  const indent = indentAt(text, first.start);
  const put = lineBreak + indent + property(key, value, indent, text);
  const at = tokens.at(-1)?.end ?? last.end;
  return comma ? [insertion(at, `${put},`)] : [insertion(last.end, ','), insertion(at, put)];
}

/** Removes an entry from an object in braces, with its comma and the comments on its lines. */
export function removeFromBraces(
  text: string,
  object: Outline,
  index: number,
  comments: Comments,
): readonly Splice[] {
  const entry = object.entries[index];
  if (!entry) return [];
  const before = object.entries[index - 1];
  const after = object.entries[index + 1];
  const limit = after?.start ?? object.end - 1;
  const tokens = tokensFrom(text, entry.end, limit, comments);
  const comma = tokens.find(({ kind }) => kind === 'comma');
  const commaBefore =
    before &&
    tokensFrom(text, before.end, entry.start, comments).find(({ kind }) => kind === 'comma');
  const end = comma?.end ?? entry.end;
  // When the last entry is removed, the comma before it has to be removed too.
  const leftOver = !comma && commaBefore ? [cut(commaBefore.start, commaBefore.end)] : [];
  const lineEnds = lineEnd(text, end);
  const tail = tokens.findLast(token => token.end <= lineEnds && token.start >= end);
  const isAlone = text.slice(tail?.end ?? end, lineEnds).trim() === '';
  if (isFirstOfLine(text, entry.start) && isAlone && lineEnds < object.end)
    return [...leftOver, cut(lineStart(text, entry.start), nextLine(text, lineEnds))];
  const spaceAfter = /^[ \t]*/.exec(text.slice(end, limit))?.[0].length ?? 0;
  const tokensBefore = tokensFrom(text, before?.end ?? object.start + 1, entry.start, comments);
  const lastBefore = tokensBefore.at(-1);
  // Move the closing brace to the start of the entry's line, unless a line comment there would hide it.
  const ownLine = isFirstOfLine(text, entry.start) && !after;
  if (ownLine && lastBefore && !/^(?:\/\/|#)/.test(text.slice(lastBefore.start)))
    return commaBefore?.end === lastBefore.end && !comma
      ? [cut(commaBefore.start, end)]
      : [...leftOver, cut(lastBefore.end, end)];
  const gap = commaBefore && text.slice(commaBefore.end, entry.start);
  // Keep a trailing comma after the last entry.
  if (!after && commaBefore && gap?.trim() === '') return [cut(commaBefore.start, entry.end)];
  return comma ? [cut(entry.start, end + spaceAfter)] : [...leftOver, cut(entry.start, end)];
}

/** Replaces a value and keeps its key. */
export function replaceInBraces(
  text: string,
  object: Outline,
  index: number,
  value: Json,
): readonly Splice[] {
  const entry = object.entries[index];
  if (!entry) return [];
  const put = isFirstOfLine(text, entry.start)
    ? lines(value, indentAt(text, entry.start), text)
    : inOneLine(value);
  return [{ start: entry.valueStart, end: entry.end, text: put }];
}

const insertion = (at: number, text: string): Splice => ({ start: at, end: at, text });
const cut = (start: number, end: number): Splice => ({ start, end, text: '' });

const indentOfLine = (text: string, at: number) =>
  /^[ \t]*/.exec(text.slice(lineStart(text, at)))?.[0] ?? '';

/** Formats a value on one line, with spaces after colons and commas. */
function inOneLine(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, inside]) => `${JSON.stringify(key)}: ${inOneLine(inside)}`,
  );
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

const lines = (value: Json, indent: string, text: string) =>
  JSON.stringify(value, undefined, indentUnitOf(text)).replaceAll('\n', lineBreakOf(text) + indent);

const property = (key: string, value: Json, indent: string, text: string) =>
  `${JSON.stringify(key)}: ${lines(value, indent, text)}`;

const marks = {
  json: /\s+|(\/\/[^\r\n]*|\/\*[^]*?\*\/)|(,)/y,
  yaml: /\s+|(#[^\r\n]*)|(,)/y,
} as const;

/** The comments and commas from an offset on, up to the first other token. */
function tokensFrom(
  text: string,
  start: number,
  limit: number,
  comments: Comments,
): readonly Token[] {
  const mark = new RegExp(marks[comments]);
  const tokens: Token[] = [];
  mark.lastIndex = start;
  while (mark.lastIndex < limit) {
    const from = mark.lastIndex;
    const found = mark.exec(text);
    if (!found) break;
    const [, comment, comma] = found;
    if (comment !== undefined) tokens.push({ kind: 'comment', start: from, end: mark.lastIndex });
    if (comma !== undefined) tokens.push({ kind: 'comma', start: from, end: mark.lastIndex });
  }
  return tokens;
}
