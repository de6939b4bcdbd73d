import type { Json } from '#core';
import type { SourceEntry, SourceMap } from '../source-map.ts';
import {
  type Splice,
  indentAt,
  indentUnitOf,
  isFirstOfLine,
  lineBreakOf,
  lineEnd,
  lineStart,
  nextLine,
} from '../splice.ts';

/** Adds an entry at the end of an object in braces. It goes on lines of its own if the existing entries do. */
export function insertInBraces(
  text: string,
  object: SourceMap,
  [key, value]: readonly [string, Json],
  comments: keyof typeof marks,
): readonly Splice[] {
  const [first] = object.entries;
  const last = object.entries.at(-1);
  const lineBreak = lineBreakOf(text);
  if (!first || !last) {
    const around = indentAt(text, object.offset);
    const tokens = tokensFrom(text, object.offset + 1, object.end - 1, comments);
    const at = tokens.at(-1)?.end ?? object.offset + 1;
    const rest = text.slice(at, object.end - 1);
    // Without comments, replace the white space between the braces.
    const end = tokens.length === 0 ? object.end - 1 : at;
    const closing = tokens.length > 0 && rest.includes('\n') ? '' : lineBreak + around;
    const put = propertyLines(text, key, value, around + indentUnitOf(text)) + closing;
    return [{ start: at, end, text: put }];
  }
  if (!isFirstOfLine(text, first.offset))
    return [insertion(last.end, `, ${JSON.stringify(key)}: ${inOneLine(value)}`)];
  const tokens = tokensFrom(text, last.end, object.end - 1, comments);
  const put = propertyLines(text, key, value, indentAt(text, first.offset));
  const at = tokens.at(-1)?.end ?? last.end;
  return tokens.some(isComma)
    ? [insertion(at, `${put},`)]
    : [insertion(last.end, ','), insertion(at, put)];
}

/** Removes an entry from an object in braces, with its comma and the comments on its lines. */
export function removeFromBraces(
  text: string,
  object: SourceMap,
  index: number,
  comments: keyof typeof marks,
): readonly Splice[] {
  const entry = object.entries[index];
  if (!entry) return [];
  const after = object.entries[index + 1];
  const limit = after?.offset ?? object.end - 1;
  const tokens = tokensFrom(text, entry.end, limit, comments);
  const comma = tokens.find(isComma);
  const endBefore = object.entries[index - 1]?.end ?? object.offset + 1;
  const tokensBefore = tokensFrom(text, endBefore, entry.offset, comments);
  const lastBefore = tokensBefore.at(-1);
  const commaBefore = tokensBefore.find(isComma);
  const end = comma?.end ?? entry.end;
  // When the last entry is removed, the comma before it has to be removed too.
  const leftOver = !comma && commaBefore ? [cut(commaBefore.start, commaBefore.end)] : [];
  const lineEnds = lineEnd(text, end);
  const tail = tokens.findLast(token => token.end <= lineEnds && token.start >= end);
  const isAlone = text.slice(tail?.end ?? end, lineEnds).trim() === '';
  const isFirst = isFirstOfLine(text, entry.offset);
  if (isFirst && isAlone && lineEnds < object.end)
    return [...leftOver, cut(lineStart(text, entry.offset), nextLine(text, lineEnds))];
  // Move the closing brace to the start of the entry's line, unless a line comment there would hide it.
  if (isFirst && !after && lastBefore && !/^(?:\/\/|#)/.test(text.slice(lastBefore.start)))
    return commaBefore?.end === lastBefore.end && !comma
      ? [cut(commaBefore.start, end)]
      : [...leftOver, cut(lastBefore.end, end)];
  const gap = commaBefore && text.slice(commaBefore.end, entry.offset);
  // Keep a trailing comma after the last entry.
  if (!after && commaBefore && gap?.trim() === '') return [cut(commaBefore.start, entry.end)];
  const spaceAfter = /^[ \t]*/.exec(text.slice(end, limit))?.[0].length ?? 0;
  return comma ? [cut(entry.offset, end + spaceAfter)] : [...leftOver, cut(entry.offset, end)];
}

export function replaceInBraces(text: string, entry: SourceEntry, value: Json): readonly Splice[] {
  const { offset, valueStart, end } = entry;
  const isFirst = isFirstOfLine(text, offset);
  const put = isFirst ? valueLines(text, value, indentAt(text, offset)) : inOneLine(value);
  return [{ start: valueStart, end, text: put }];
}

const insertion = (at: number, text: string): Splice => ({ start: at, end: at, text });
const cut = (start: number, end: number): Splice => ({ start, end, text: '' });

/** Formats a value on one line, with spaces after colons and commas. */
function inOneLine(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, inside]) => `${JSON.stringify(key)}: ${inOneLine(inside)}`,
  );
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

const valueLines = (text: string, value: Json, indent: string) =>
  JSON.stringify(value, undefined, indentUnitOf(text)).replaceAll('\n', lineBreakOf(text) + indent);

/** A line break, and an entry on lines of its own. */
const propertyLines = (text: string, key: string, value: Json, indent: string) =>
  `${lineBreakOf(text)}${indent}${JSON.stringify(key)}: ${valueLines(text, value, indent)}`;

/** Comments and commas. */
const marks = {
  json: /\s+|(\/\/[^\r\n]*|\/\*[^]*?\*\/)|(,)/y,
  yaml: /\s+|(#[^\r\n]*)|(,)/y,
} as const;

type Token = { readonly isComma: boolean; readonly start: number; readonly end: number };
const isComma = (token: Token) => token.isComma;

/** The comments and commas from an offset on, up to the first other token. */
function tokensFrom(
  text: string,
  start: number,
  limit: number,
  comments: keyof typeof marks,
): readonly Token[] {
  const mark = new RegExp(marks[comments]);
  const tokens: Token[] = [];
  mark.lastIndex = start;
  while (mark.lastIndex < limit) {
    const from = mark.lastIndex;
    const found = mark.exec(text);
    if (!found) break;
    const [, comment, comma] = found;
    if (comment !== undefined || comma !== undefined)
      tokens.push({ isComma: comma !== undefined, start: from, end: mark.lastIndex });
  }
  return tokens;
}
