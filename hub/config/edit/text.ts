import type { Json, JsonObject } from '#core';
import type { Format } from '../files.ts';
import { readJson } from '../json.ts';
import { forms } from '../merge.ts';
import {
  type NewEntry,
  type SourceEntry,
  type SourceList,
  type SourceMap,
  mapIn,
} from '../source-map.ts';
import {
  type Splice,
  indentAt,
  indentUnitOf,
  isFirstOfLine,
  lineBreakOf,
  lineEnd,
  lineStart,
  nextLine,
  splice,
} from '../splice.ts';

/** A parsed config file, with functions that insert entries. */
export type OpenText = Awaited<ReturnType<typeof openText>>;

/** Parses a valid config file for edits. */
export async function openText(whole: string, format: Format) {
  const byteOrderMark = whole.startsWith('\uFEFF') ? '\uFEFF' : '';
  const text = whole.slice(byteOrderMark.length);
  const source = { file: '', text };
  // Loaded on demand, as few hubs have a YAML file.
  const yaml = format === 'yaml' ? await import('../yaml.ts') : undefined;
  const { root: node } = yaml ? yaml.readYaml(source) : readJson(source);
  const root = node?.kind === 'map' ? node : undefined;
  return {
    text,
    yaml,
    root,
    /** Entries of `servers` and `mcpServers`, which contain the servers. */
    groups: (root?.entries ?? []).filter(({ key }) => forms.some(form => form === key)),
    /**
     * Adds an entry at the end of an object. `at` is the entry whose value the object is, and the object `around` that
     * entry.
     */
    insert: (
      object: SourceMap,
      entry: NewEntry,
      at?: { readonly entry: SourceEntry; readonly around: SourceMap },
    ): readonly Splice[] => {
      if (object.style === 'block' && yaml) return yaml.insertInBlock(object, entry);
      // For an empty `{}` in YAML block style, insert in block style instead of filling the braces.
      const isEmpty = text.slice(object.offset + 1, object.end - 1).trim() === '';
      if (yaml && at?.around.style === 'block' && isEmpty)
        return yaml.insertInEmpty(at.around, at.entry, entry);
      return insertInBraces(object, entry, format);
    },
    /** Returns the whole text with these splices applied. */
    with: (splices: readonly Splice[]) => byteOrderMark + splice(text, splices),
  };
}

/** Parses a valid config file, to edit the entries of its servers. All other text stays unchanged. */
export async function editableText(whole: string, format: Format) {
  const opened = await openText(whole, format);
  const { yaml, root, groups, insert } = opened;
  const groupOf = (name: string) =>
    groups.find(group => mapIn(group)?.entries.some(({ key }) => key === name));

  function add(name: string, entry: JsonObject | null): readonly Splice[] | undefined {
    const group = groups.find(({ key }) => key === 'servers') ?? groups[0];
    const object = group && mapIn(group);
    if (group)
      return object && root && insert(object, [name, entry], { entry: group, around: root });
    return root && insert(root, ['servers', Object.fromEntries([[name, entry]])]);
  }

  function change(name: string, value: JsonObject | null | undefined) {
    const group = groupOf(name);
    const object = group && mapIn(group);
    if (!object) return value === undefined ? [] : add(name, value);
    const index = object.entries.findIndex(({ key }) => key === name);
    return object.style === 'block' && yaml
      ? yaml.changeInBlock(group, object, index, value)
      : changeInBraces(object, index, value, format);
  }

  return {
    /** True if the file itself has an entry of this name, even if its value is `null`. */
    has: (name: string) => groupOf(name) !== undefined,
    /**
     * Returns the text with a new value for a server's entry: an object, `null` to remove a server of a file in
     * `extends`, or `undefined` to delete the entry. A new entry is added at the end of `servers`, or of `mcpServers`
     * if the file has only that. Undefined if the text uses syntax that cannot be edited this way.
     */
    with(name: string, entry: JsonObject | null | undefined): string | undefined {
      const splices = change(name, entry);
      return splices && opened.with(splices);
    },
  };
}

/** An object in braces or a list in brackets. */
type Bracketed = Pick<SourceMap, 'source' | 'offset' | 'end'> & {
  readonly entries: readonly Pick<SourceEntry, 'offset' | 'end'>[];
};

/** Adds an entry at the end of an object in braces, on lines of its own if the existing entries have that. */
export const insertInBraces = (object: SourceMap, [key, value]: NewEntry, format: Format) =>
  insertMember(
    object,
    {
      inLine: `${JSON.stringify(key)}: ${inOneLine(value)}`,
      onLines: indent => propertyLines(object.source.text, key, value, indent),
    },
    format,
  );

/** Adds a string at the end of a list in brackets, on a line of its own if the existing items have that. */
export function insertInBrackets(list: SourceList, value: string, format: Format) {
  const text = JSON.stringify(value);
  const onLines = (indent: string) => `${lineBreakOf(list.source.text)}${indent}${text}`;
  return insertMember({ ...list, entries: list.items }, { inLine: text, onLines }, format);
}

/** Removes an item of a list in brackets, with its comma and the comments on its lines. */
export function removeFromBrackets(list: SourceList, index: number, format: Format) {
  const item = list.items[index];
  const entries = { ...list, entries: list.items };
  return item && removeFromBraces(entries, index, item, format);
}

function insertMember(
  object: Bracketed,
  { inLine, onLines }: { readonly inLine: string; readonly onLines: (indent: string) => string },
  format: Format,
): readonly Splice[] {
  const { text } = object.source;
  const [first] = object.entries;
  const last = object.entries.at(-1);
  const lineBreak = lineBreakOf(text);
  if (!first || !last) {
    const around = indentAt(text, object.offset);
    const tokens = tokensFrom(text, object.offset + 1, object.end - 1, format);
    const at = tokens.at(-1)?.end ?? object.offset + 1;
    const rest = text.slice(at, object.end - 1);
    // Without comments, replace the white space between the braces.
    const end = tokens.length === 0 ? object.end - 1 : at;
    const closing = tokens.length > 0 && rest.includes('\n') ? '' : lineBreak + around;
    const put = onLines(around + indentUnitOf(text)) + closing;
    return [{ start: at, end, text: put }];
  }
  if (!isFirstOfLine(text, first.offset)) return [insertion(last.end, `, ${inLine}`)];
  const tokens = tokensFrom(text, last.end, object.end - 1, format);
  const put = onLines(indentAt(text, first.offset));
  const at = tokens.at(-1)?.end ?? last.end;
  return tokens.some(isComma)
    ? [insertion(at, `${put},`)]
    : [insertion(last.end, ','), insertion(at, put)];
}

/** Replaces the value of an entry of an object in braces, or removes the entry if `value` is undefined. */
export function changeInBraces(
  object: SourceMap,
  index: number,
  value: Json | undefined,
  format: Format,
): readonly Splice[] {
  const entry = object.entries[index];
  if (!entry) return [];
  if (value === undefined) return removeFromBraces(object, index, entry, format);
  const { source, offset, valueStart, end } = entry;
  const isFirst = isFirstOfLine(source.text, offset);
  const put = isFirst
    ? valueLines(source.text, value, indentAt(source.text, offset))
    : inOneLine(value);
  return [{ start: valueStart, end, text: put }];
}

/** Removes an entry with its comma and the comments on its lines. */
function removeFromBraces(
  object: Bracketed,
  index: number,
  entry: Bracketed['entries'][number],
  format: Format,
): readonly Splice[] {
  const { text } = object.source;
  const after = object.entries[index + 1];
  const limit = after?.offset ?? object.end - 1;
  const tokens = tokensFrom(text, entry.end, limit, format);
  const comma = tokens.find(isComma);
  const endBefore = object.entries[index - 1]?.end ?? object.offset + 1;
  const tokensBefore = tokensFrom(text, endBefore, entry.offset, format);
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

const insertion = (at: number, text: string): Splice => ({ start: at, end: at, text });
const cut = (start: number, end: number): Splice => ({ start, end, text: '' });

/** Formats a value on one line, with spaces after colons and commas. */
export function inOneLine(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(inOneLine).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(
    ([key, inside]) => `${JSON.stringify(key)}: ${inOneLine(inside)}`,
  );
  return entries.length === 0 ? '{}' : `{ ${entries.join(', ')} }`;
}

const valueLines = (text: string, value: Json, indent: string) =>
  JSON.stringify(value, undefined, indentUnitOf(text)).replaceAll('\n', lineBreakOf(text) + indent);

/** Returns a line break, and an entry formatted on lines of its own. */
const propertyLines = (text: string, key: string, value: Json, indent: string) =>
  `${lineBreakOf(text)}${indent}${JSON.stringify(key)}: ${valueLines(text, value, indent)}`;

/** Patterns for white space, comments and commas. */
const marks = {
  json: /\s+|(\/\/[^\r\n]*|\/\*[^]*?\*\/)|(,)/y,
  yaml: /\s+|(#[^\r\n]*)|(,)/y,
} as const;

type Token = { readonly isComma: boolean; readonly start: number; readonly end: number };
const isComma = (token: Token) => token.isComma;

/** Returns the comments and commas from an offset on, up to the first other token. */
function tokensFrom(
  text: string,
  start: number,
  limit: number,
  comments: Format,
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
