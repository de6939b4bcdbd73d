import type { Json } from '#core';
import { type SourceEntry, type SourceMap, mapIn } from '../source-map.ts';
import { type Splice, isFirstOfLine, lineBreakOf, lineStart, nextLine } from '../splice.ts';
import { writeYaml } from '../yaml.ts';

const defaultIndent = 2;

/** Adds an entry after the last line of a YAML block mapping, and after the comments that end it. */
export function insertInBlock(
  text: string,
  object: SourceMap,
  entry: readonly [string, Json],
): readonly Splice[] {
  const [first] = object.entries;
  const last = object.entries.at(-1);
  const column = columnOf(text, first?.offset ?? object.offset);
  const end = last ? endOfLines(text, last.end, column) : object.end;
  return [insertLines(text, end, format(text, entry, column, indentOf(text, object)))];
}

/** Replaces `key: {}` with `key:` and an entry below it. */
export function insertInEmpty(
  text: string,
  around: SourceMap,
  empty: SourceEntry,
  entry: readonly [string, Json],
): readonly Splice[] {
  const indent = indentOf(text, around);
  const column = columnOf(text, empty.offset) + indent;
  const space = /[ \t]*$/.exec(text.slice(0, empty.valueStart))?.[0].length ?? 0;
  return [
    { start: empty.valueStart - space, end: empty.end, text: '' },
    insertLines(text, nextLine(text, empty.end), format(text, entry, column, indent)),
  ];
}

/** Removes an entry's lines. An object that becomes empty is written as `{}`. */
export function removeFromBlock(
  text: string,
  group: SourceEntry,
  object: SourceMap,
  entry: SourceEntry,
): readonly Splice[] | undefined {
  if (!isFirstOfLine(text, entry.offset)) return undefined;
  const { start, end } = linesOf(text, entry);
  // If the file does not end with a line break, keep it so.
  const isOpen = end === text.length && !text.endsWith('\n');
  const cut = { start: start - (isOpen ? lineBreakOf(text).length : 0), end, text: '' };
  if (object.entries.length > 1) return [cut];
  const colon = text.indexOf(':', group.keyEnd) + 1;
  return [{ start: colon, end: colon, text: ' {}' }, cut];
}

export function replaceInBlock(
  text: string,
  object: SourceMap,
  entry: SourceEntry,
  value: Json,
): readonly Splice[] | undefined {
  if (!isFirstOfLine(text, entry.offset)) return undefined;
  const { start, end } = linesOf(text, entry);
  const column = columnOf(text, entry.offset);
  const put = format(text, [entry.key, value], column, indentOf(text, object));
  const isEnded = text.slice(start, end).endsWith('\n');
  return [{ start, end, text: isEnded ? put + lineBreakOf(text) : put }];
}

/** If the file does not end with a line break, it stays so. */
function insertLines(text: string, at: number, lines: string): Splice {
  const isOpen = at > 0 && text[at - 1] !== '\n';
  const lineBreak = lineBreakOf(text);
  return { start: at, end: at, text: isOpen ? lineBreak + lines : lines + lineBreak };
}

function format(
  text: string,
  [key, value]: readonly [string, Json],
  column: number,
  indent: number,
): string {
  return writeYaml(Object.fromEntries([[key, value]]), indent)
    .split('\n')
    .map(line => (line === '' ? '' : ' '.repeat(column) + line))
    .join(lineBreakOf(text));
}

const columnOf = (text: string, at: number) => at - lineStart(text, at);

/** Indentation step of nested objects, in columns. */
function indentOf(text: string, { entries }: SourceMap): number {
  for (const entry of entries) {
    const object = mapIn(entry);
    const inside = object?.style === 'block' ? object.entries[0] : undefined;
    const by = inside ? columnOf(text, inside.offset) - columnOf(text, entry.offset) : 0;
    if (by > 0) return by;
  }
  return defaultIndent;
}

const linesOf = (text: string, { offset, end }: SourceEntry) => ({
  start: lineStart(text, offset),
  end: endOfLines(text, end, columnOf(text, offset) + 1),
});

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
