import {
  type Document as YamlDocument,
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
  type Path,
  type SourceEntry,
  type SourceMap,
  type SourceNode,
  type SourceText,
  type Syntax,
  type SyntaxFault,
  mapIn,
} from './source-map.ts';
import { type Splice, isFirstOfLine, lineBreakOf, lineStart, nextLine } from './splice.ts';

/** Far more than any real file needs. Bounds YAML aliases that contain each other. */
const maxValues = 20_000;
const maxDepth = 64;

/** Parses YAML and resolves aliases. Reports only the first syntax error or warning. */
export function readYaml(source: SourceText): Syntax {
  // Duplicate keys are reported later, in the same way for both formats.
  const yaml = parseDocument(source.text, { uniqueKeys: false, prettyErrors: false });
  const [first] = [...yaml.errors, ...yaml.warnings];
  if (first) return { root: undefined, fault: { offset: first.pos[0], text: first.message } };
  let left = maxValues;
  let fault: SyntaxFault | undefined;
  const convert = (node: unknown, around: number, path: Path, depth: number): SourceNode => {
    left -= 1;
    if (left < 0 || depth > maxDepth) {
      const text = 'it has too many values, or aliases that contain each other';
      fault ??= { offset: around, text };
      return { kind: 'scalar', source, offset: around, path, value: null };
    }
    if (isAlias(node)) return convert(node.resolve(yaml), around, path, depth + 1);
    const [offset, end] = rangeOf(node) ?? [around, around];
    const here = { source, offset, path };
    if (isSeq(node)) {
      const convertItem = (item: unknown, index: number) =>
        convert(item, offset, [...path, index], depth + 1);
      return { ...here, kind: 'list', items: node.items.map(convertItem) };
    }
    if (!isMap(node)) return { ...here, kind: 'scalar', value: isScalar(node) ? node.value : null };
    const entries = node.items.map(({ key: keyNode, value }) => {
      const [keyOffset, keyEnd] = rangeOf(keyNode) ?? [offset, offset];
      const [valueStart, valueEnd] = rangeOf(value) ?? [keyEnd, keyEnd];
      const key = keyName(keyNode, yaml);
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
    return { ...here, kind: 'map', style: node.flow ? 'braces' : 'block', end, entries };
  };
  const root = yaml.contents === null ? undefined : convert(yaml.contents, 0, [], 0);
  return { root, fault };
}

const rangeOf = (node: unknown) => (isNode(node) ? (node.range ?? undefined) : undefined);

function keyName(key: unknown, yaml: YamlDocument): string {
  const node = isAlias(key) ? key.resolve(yaml) : key;
  return isScalar(node) ? String(node.value) : JSON.stringify(node);
}

/** Formats an object as YAML, without a trailing line break. */
export const writeYaml = (value: object, indent: number): string =>
  stringify(value, { indent, lineWidth: 0 }).trimEnd();

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
