import {
  type Alias,
  type YAMLParseError,
  type YAMLWarning,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  parseDocument,
  stringify,
} from 'yaml';
import type { Json } from '#core';
import {
  type NewEntry,
  type Path,
  type SourceEntry,
  type SourceList,
  type SourceLocation,
  type SourceMap,
  type SourceNode,
  type SourceText,
  type Syntax,
  type SyntaxFault,
  mapIn,
} from './source-map.ts';
import {
  type Splice,
  indentAt,
  indentUnitOf,
  isFirstOfLine,
  lineBreakOf,
  lineStart,
  nextLine,
} from './splice.ts';

/** Maximum number of values, far more than a real file needs. Bounds YAML aliases that contain each other. */
const maxValues = 20_000;
const maxDepth = 64;

/** Parses YAML and resolves aliases. Reports only the first syntax error or warning. */
export function readYaml(source: SourceText): Syntax {
  // Duplicate keys are reported later, in the same way for both formats.
  const yaml = parseDocument(source.text, { uniqueKeys: false, prettyErrors: false });
  const [first] = [...yaml.errors, ...yaml.warnings];
  if (first) return { root: undefined, fault: { offset: first.pos[0], text: faultText(first) } };
  let left = maxValues;
  let fault: SyntaxFault | undefined;
  const targetOf = (alias: Alias): unknown => {
    const target = alias.resolve(yaml);
    const text = `the alias "*${alias.source}" needs an anchor "&${alias.source}" above it`;
    if (!target) fault ??= { offset: alias.range?.[0] ?? 0, text };
    return target;
  };
  const convert = (node: unknown, around: number, path: Path, depth: number): SourceNode => {
    left -= 1;
    if (left < 0 || depth > maxDepth) {
      const text = 'it has too many values, or aliases that contain each other';
      fault ??= { offset: around, text };
      return { kind: 'scalar', source, offset: around, end: around, path, value: null };
    }
    if (isAlias(node)) return convert(targetOf(node), around, path, depth + 1);
    const [offset, end] = rangeOf(node) ?? [around, around];
    const here = { source, offset, path, end };
    if (isSeq(node)) {
      const convertItem = (item: unknown, index: number) =>
        convert(item, offset, [...path, index], depth + 1);
      return { ...here, kind: 'list', items: node.items.map(convertItem) };
    }
    if (!isMap(node)) return { ...here, kind: 'scalar', value: isScalar(node) ? node.value : null };
    const entries = node.items.map(({ key: keyNode, value }) => {
      const [keyOffset, keyEnd] = rangeOf(keyNode) ?? [offset, offset];
      const [valueStart, valueEnd] = rangeOf(value) ?? [keyEnd, keyEnd];
      const key = keyName(isAlias(keyNode) ? targetOf(keyNode) : keyNode);
      if (key === '<<') fault ??= { offset: keyOffset, text: noMerge };
      const at = [...path, key];
      return {
        source,
        offset: keyOffset,
        path: at,
        key,
        keyEnd,
        valueStart,
        end: Math.max(keyEnd, valueEnd),
        value: convert(value, keyOffset, at, depth + 1),
        isAlias: isAlias(value),
      };
    });
    return { ...here, kind: 'map', style: node.flow ? 'braces' : 'block', entries };
  };
  const root = yaml.contents === null ? undefined : convert(yaml.contents, 0, [], 0);
  return { root, fault };
}

const noMerge =
  'the merge key "<<" is not supported: write the keys out, or use an alias for the whole value';

/** Returns the parser's message, or a better one where that is for programmers or has no remedy. */
function faultText({ code, message }: YAMLParseError | YAMLWarning): string {
  if (code === 'MULTIPLE_DOCS') return 'it has several documents: keep one, without "---" after it';
  if (code === 'TAB_AS_INDENT') return 'a tab indents the line: write spaces';
  const [, tag] = /^Unresolved tag: (.+)$/.exec(message) ?? [];
  return tag === undefined ? message : `the tag ${tag} is not known: remove it`;
}

const rangeOf = (node: unknown) => (isNode(node) ? (node.range ?? undefined) : undefined);

const keyName = (key: unknown): string =>
  isScalar(key) ? String(key.value) : JSON.stringify(key ?? null);

/** Adds an entry after the last line of a YAML block mapping, and after the comments that end it. */
export function insertInBlock(object: SourceMap, entry: NewEntry): readonly Splice[] {
  const { text } = object.source;
  const [first] = object.entries;
  const last = object.entries.at(-1);
  const column = columnOf(first ?? object);
  const end = last ? endOfLines(text, last.end, column) : object.end;
  return [insertLines(text, end, format(text, entry, column, indentOf(object)))];
}

/** Replaces `key: {}` with `key:` and an entry below it. */
export function insertInEmpty(around: SourceMap, empty: SourceEntry, entry: NewEntry) {
  const { text } = around.source;
  const indent = indentOf(around);
  const column = columnOf(empty) + indent;
  const space = /[ \t]*$/.exec(text.slice(0, empty.valueStart))?.[0].length ?? 0;
  return [
    { start: empty.valueStart - space, end: empty.end, text: '' },
    insertLines(text, nextLine(text, empty.end), format(text, entry, column, indent)),
  ];
}

/**
 * Replaces the value of an entry of a block mapping. If `value` is undefined, removes the entry's lines; an object that
 * becomes empty is written as `{}`.
 */
export function changeInBlock(
  group: SourceEntry,
  object: SourceMap,
  index: number,
  value: Json | undefined,
): readonly Splice[] | undefined {
  const { text } = object.source;
  const entry = object.entries[index];
  if (!entry || !isFirstOfLine(text, entry.offset)) return undefined;
  const column = columnOf(entry);
  const start = lineStart(text, entry.offset);
  const end = endOfLines(text, entry.end, column + 1);
  if (value !== undefined) {
    const put = format(text, [entry.key, value], column, indentOf(object));
    const isEnded = text.slice(start, end).endsWith('\n');
    return [{ start, end, text: isEnded ? put + lineBreakOf(text) : put }];
  }
  // If the file does not end with a line break, keep that.
  const isOpen = end === text.length && !text.endsWith('\n');
  const cut = { start: start - (isOpen ? lineBreakOf(text).length : 0), end, text: '' };
  if (object.entries.length > 1) return [cut];
  const colon = text.indexOf(':', group.keyEnd) + 1;
  return [{ start: colon, end: colon, text: ' {}' }, cut];
}

/** Adds an item after the last one of a block list. Undefined if the list has no lines of its own. */
export function insertItem(list: SourceList, value: string): readonly Splice[] | undefined {
  const { text } = list.source;
  const last = list.items.at(-1);
  if (!last || !isAlone(list, last)) return undefined;
  const column = indentAt(text, last.offset).length;
  const line = `${' '.repeat(column)}- ${stringify(value).trimEnd()}`;
  return [insertLines(text, endOfLines(text, last.end, column), line)];
}

/** Removes the lines of an item of a block list that has others. Undefined if the item has no lines of its own. */
export function removeItem(list: SourceList, index: number): readonly Splice[] | undefined {
  const { text } = list.source;
  const item = list.items[index];
  if (!item || list.items.length < 2 || !isAlone(list, item)) return undefined;
  const start = lineStart(text, item.offset);
  const end = nextLine(text, item.end);
  const isOpen = end === text.length && !text.endsWith('\n');
  return [{ start: start - (isOpen ? lineBreakOf(text).length : 0), end, text: '' }];
}

/** True if an item begins its own line, after a dash. An alias is located at its anchor, which is elsewhere. */
const isAlone = ({ source: { text }, offset, end }: SourceList, item: SourceNode): boolean =>
  item.offset >= offset &&
  item.end <= end &&
  /^[ \t]*-[ \t]+$/.test(text.slice(lineStart(text, item.offset), item.offset));

/** Inserts lines. If the file does not end with a line break, it still does not afterwards. */
function insertLines(text: string, at: number, lines: string): Splice {
  const isOpen = at > 0 && text[at - 1] !== '\n';
  const lineBreak = lineBreakOf(text);
  return { start: at, end: at, text: isOpen ? lineBreak + lines : lines + lineBreak };
}

function format(text: string, entry: NewEntry, column: number, indent: number): string {
  return stringify(Object.fromEntries([entry]), { indent, lineWidth: 0 })
    .trimEnd()
    .split('\n')
    .map(line => (line === '' ? '' : ' '.repeat(column) + line))
    .join(lineBreakOf(text));
}

const columnOf = ({ source, offset }: SourceLocation) => offset - lineStart(source.text, offset);

/** Indentation step of nested objects, in columns. Without nested objects, that of the text. */
function indentOf({ source, entries }: SourceMap): number {
  for (const entry of entries) {
    const object = mapIn(entry);
    const inside = object?.style === 'block' ? object.entries[0] : undefined;
    const by = inside ? columnOf(inside) - columnOf(entry) : 0;
    if (by > 0) return by;
  }
  return indentUnitOf(source.text).length;
}

/**
 * Returns the offset after the lines of a value, including comments below it that are indented by at least `column`.
 */
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
