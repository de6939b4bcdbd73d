import type { Json } from '#core';
import {
  type Outline,
  type OutlineEntry,
  type Splice,
  isFirstOfLine,
  lineBreakOf,
  lineStart,
  nextLine,
} from '../outline.ts';

/** Formats an object as YAML, without a trailing line break. */
export type WriteYaml = (value: object, indent: number) => string;

const defaultIndent = 2;

/** Adds an entry after the last line of a YAML block mapping, and after the comments that end it. */
export function insertInBlock(
  text: string,
  object: Outline,
  entry: readonly [string, Json],
  writeYaml: WriteYaml,
): readonly Splice[] {
  const column = columnOf(text, object.entries[0]?.start ?? object.start);
  const last = object.entries.at(-1);
  const end = last ? endOfLines(text, last.end, column) : object.end;
  return insertAt(text, end, column, entry, writeYaml, indentOf(text, object));
}

/** Replaces `key: {}` with `key:` and an entry below it. */
export function insertInEmpty(
  text: string,
  around: Outline,
  empty: OutlineEntry,
  entry: readonly [string, Json],
  writeYaml: WriteYaml,
): readonly Splice[] {
  const indent = indentOf(text, around);
  const column = columnOf(text, empty.start) + indent;
  const space = /[ \t]*$/.exec(text.slice(0, empty.valueStart))?.[0].length ?? 0;
  return [
    { start: empty.valueStart - space, end: empty.end, text: '' },
    ...insertAt(text, nextLine(text, empty.end), column, entry, writeYaml, indent),
  ];
}

/** Removes an entry's lines. An object that becomes empty is written as `{}`. */
export function removeFromBlock(
  text: string,
  group: OutlineEntry,
  object: Outline,
  index: number,
): readonly Splice[] | undefined {
  const entry = object.entries[index];
  if (!entry || !isFirstOfLine(text, entry.start)) return undefined;
  const end = endOfLines(text, entry.end, columnOf(text, entry.start) + 1);
  // If the file does not end with a line break, keep it so.
  const isOpen = end === text.length && !text.endsWith('\n');
  const start = lineStart(text, entry.start) - (isOpen ? lineBreakOf(text).length : 0);
  const cut = { start, end, text: '' };
  if (object.entries.length > 1) return [cut];
  const colon = text.indexOf(':', group.keyEnd) + 1;
  return [{ start: colon, end: colon, text: ' {}' }, cut];
}

/** Replaces an entry's value. */
export function replaceInBlock(
  text: string,
  object: Outline,
  index: number,
  value: Json,
  writeYaml: WriteYaml,
): readonly Splice[] | undefined {
  const entry = object.entries[index];
  if (!entry || !isFirstOfLine(text, entry.start)) return undefined;
  const column = columnOf(text, entry.start);
  const start = lineStart(text, entry.start);
  const end = endOfLines(text, entry.end, column + 1);
  const put = pair([entry.key, value], column, writeYaml, text, indentOf(text, object));
  const ended = text.slice(start, end).endsWith('\n');
  return [{ start, end, text: ended ? put + lineBreakOf(text) : put }];
}

function insertAt(
  text: string,
  at: number,
  column: number,
  entry: readonly [string, Json],
  writeYaml: WriteYaml,
  indent: number,
): readonly Splice[] {
  const lineBreak = lineBreakOf(text);
  const put = pair(entry, column, writeYaml, text, indent);
  // If the file does not end with a line break, keep it so.
  const isOpen = at > 0 && text[at - 1] !== '\n';
  return [{ start: at, end: at, text: isOpen ? lineBreak + put : put + lineBreak }];
}

function pair(
  [key, value]: readonly [string, Json],
  column: number,
  writeYaml: WriteYaml,
  text: string,
  indent: number,
): string {
  const yaml = writeYaml(Object.fromEntries([[key, value]]), indent);
  const before = ' '.repeat(column);
  return yaml
    .split('\n')
    .map(line => (line === '' ? '' : before + line))
    .join(lineBreakOf(text));
}

const columnOf = (text: string, at: number) => at - lineStart(text, at);

/** Indentation step of nested objects, in columns. */
function indentOf(text: string, { entries }: Outline): number {
  for (const { start, value } of entries) {
    const inside = value?.style === 'block' ? value.entries[0] : undefined;
    const by = inside ? columnOf(text, inside.start) - columnOf(text, start) : 0;
    if (by > 0) return by;
  }
  return defaultIndent;
}

/** Offset after the lines of a value, including the comments below it that are indented by at least `column`. */
function endOfLines(text: string, valueEnd: number, column: number): number {
  let end = text[valueEnd - 1] === '\n' ? valueEnd : nextLine(text, valueEnd);
  for (let at = end; at < text.length; at = nextLine(text, at)) {
    const line = text.slice(at, nextLine(text, at));
    const comment = /^( *)#/.exec(line);
    if (comment && (comment[1] ?? '').length >= column) end = nextLine(text, at);
    else if (line.trim() !== '') break;
  }
  return end;
}
