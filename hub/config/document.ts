import { parseTree, printParseErrorCode } from 'jsonc-parser';
import type { Node as JsonNode, ParseError } from 'jsonc-parser';
import { isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Document as YamlDocument } from 'yaml';
import type { Path, Place, Problem } from './problem.ts';

/** A parsed file that still knows where everything stands. */
export type Document = {
  /** Undefined where the text is broken or says nothing. */
  readonly value: unknown;
  /** The keys of the object at the path in the order of the file, which a JavaScript object may change. */
  readonly keysAt: (path: Path) => readonly string[];
  /** Where the value at the path, or the nearest one around it, is written. */
  readonly placeOf: (path: Path) => Place;
};

export type Parsed = { readonly document: Document; readonly problems: readonly Problem[] };

/** A value and where it starts, in characters from the start of the text. */
type Located = { readonly offset: number } & (
  | { readonly kind: 'map'; readonly entries: readonly Entry[] }
  | { readonly kind: 'list'; readonly items: readonly Located[] }
  | { readonly kind: 'scalar'; readonly value: unknown }
);
type Entry = { readonly key: string; readonly offset: number; readonly value: Located };

type Fault = { readonly offset: number; readonly text: string };
type Read = { readonly root: Located | undefined; readonly fault: Fault | undefined };

/** Far above any real file; keeps YAML aliases that contain each other from filling the memory. */
const maxValues = 20_000;
const maxDepth = 64;

/**
 * Parses JSON (comments and trailing commas allowed) or YAML. Problems are broken syntax, a file
 * without content, and keys that stand twice in one object. The first syntax error only: those after
 * it mostly follow from it.
 */
export function parseText(text: string, format: 'json' | 'yaml'): Parsed {
  const clean = text.replace(/^\uFEFF/, '');
  const { root, fault } = format === 'json' ? readJson(clean) : readYaml(clean);
  const placeOf = (offset: number): Place => {
    const before = clean.slice(0, offset).split('\n');
    return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
  };
  const nothing = {
    value: undefined,
    keysAt: () => [],
    placeOf: () => placeOf(fault?.offset ?? 0),
  };
  if (fault) {
    const name = format === 'json' ? 'JSON' : 'YAML';
    return {
      document: nothing,
      problems: [{ path: [], text: `not valid ${name}: ${fault.text}` }],
    };
  }
  if (!root || (root.kind === 'scalar' && root.value === null)) {
    const example = format === 'json' ? '{"servers": {}}' : 'servers: {}';
    const empty = { path: [], text: `the file is empty: write ${example}` };
    return { document: nothing, problems: [empty] };
  }
  const document: Document = {
    value: plain(root),
    keysAt(path) {
      const found = walk(root, path).value;
      return found?.kind === 'map' ? found.entries.map(({ key }) => key) : [];
    },
    placeOf: path => placeOf(walk(root, path).offset),
  };
  return { document, problems: duplicates(root, [], placeOf) };
}

function readJson(text: string): Read {
  const errors: ParseError[] = [];
  const tree = parseTree(text, errors, { allowTrailingComma: true });
  const [first] = errors;
  if (!tree) return { root: undefined, fault: undefined };
  const code = first && printParseErrorCode(first.error);
  return {
    root: fromJson(tree),
    fault: first && { offset: first.offset, text: jsonFaults.get(code ?? '') ?? String(code) },
  };
}

const jsonFaults = new Map([
  ['InvalidSymbol', 'a word or sign that is not JSON; strings stand in double quotes'],
  ['InvalidNumberFormat', 'a number that is not written as JSON wants it'],
  ['PropertyNameExpected', 'a key in double quotes is expected here'],
  ['ValueExpected', 'a value is missing here'],
  ['ColonExpected', 'a ":" is missing before this'],
  ['CommaExpected', 'a "," is missing before this'],
  ['CloseBraceExpected', 'a "}" is missing before this'],
  ['CloseBracketExpected', 'a "]" is missing before this'],
  ['EndOfFileExpected', 'the file should end here; remove what follows'],
  ['InvalidCommentToken', 'a comment that is not closed'],
  ['UnexpectedEndOfComment', 'a comment that is not closed'],
  ['UnexpectedEndOfString', 'a string that is not closed on its line'],
  ['UnexpectedEndOfNumber', 'a number that is cut off'],
  ['InvalidUnicode', '"\\u" needs four hexadecimal digits'],
  [
    'InvalidEscapeCharacter',
    'a backslash before a character that needs none; write "\\\\" for one',
  ],
  ['InvalidCharacter', 'a control character in a string; write it as \\n, \\t or \\u0000'],
]);

function fromJson(node: JsonNode): Located {
  const { offset, children = [] } = node;
  if (node.type === 'array') return { kind: 'list', offset, items: children.map(fromJson) };
  if (node.type !== 'object') return { kind: 'scalar', offset, value: node.value };
  const entries = children.flatMap(({ children: [key, value] = [] }) =>
    key && value ? [{ key: String(key.value), offset: key.offset, value: fromJson(value) }] : [],
  );
  return { kind: 'map', offset, entries };
}

function readYaml(text: string): Read {
  // Keys that stand twice are found below, in one way for both formats.
  const yaml = parseDocument(text, { uniqueKeys: false, prettyErrors: false });
  const [first] = [...yaml.errors, ...yaml.warnings];
  if (first) return { root: undefined, fault: { offset: first.pos[0], text: first.message } };
  let left = maxValues;
  let fault: Fault | undefined;
  const convert = (node: unknown, around: number, depth: number): Located => {
    left -= 1;
    if (left < 0 || depth > maxDepth) {
      fault ??= {
        offset: around,
        text: 'it has too many values, or aliases that contain each other',
      };
      return { kind: 'scalar', offset: around, value: null };
    }
    if (isAlias(node)) return convert(node.resolve(yaml), around, depth + 1);
    const offset = offsetOf(node) ?? around;
    if (isSeq(node))
      return {
        kind: 'list',
        offset,
        items: node.items.map(item => convert(item, offset, depth + 1)),
      };
    if (!isMap(node)) return { kind: 'scalar', offset, value: isScalar(node) ? node.value : null };
    const entries = node.items.map(({ key, value }) => {
      const keyOffset = offsetOf(key) ?? offset;
      const name = keyName(key, yaml);
      return { key: name, offset: keyOffset, value: convert(value, keyOffset, depth + 1) };
    });
    return { kind: 'map', offset, entries };
  };
  const root = yaml.contents === null ? undefined : convert(yaml.contents, 0, 0);
  return { root, fault };
}

function offsetOf(node: unknown): number | undefined {
  return isScalar(node) || isMap(node) || isSeq(node) ? node.range?.[0] : undefined;
}

function keyName(key: unknown, yaml: YamlDocument): string {
  const node = isAlias(key) ? key.resolve(yaml) : key;
  return isScalar(node) ? String(node.value) : JSON.stringify(node);
}

/** `Object.fromEntries` makes own properties, `__proto__` included, so that no key goes unseen. */
function plain(node: Located): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plain);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
}

/** The value at a path, and the offset of it or of the nearest one around it. */
function walk(root: Located, path: Path): { readonly offset: number; readonly value?: Located } {
  let value = root;
  let { offset } = root;
  for (const part of path) {
    const entry =
      value.kind === 'map' ? value.entries.findLast(({ key }) => key === part) : undefined;
    const inside = value.kind === 'list' ? value.items[Number(part)] : entry?.value;
    if (!inside) return { offset };
    offset = entry?.offset ?? inside.offset;
    value = inside;
  }
  return { offset, value };
}

function duplicates(node: Located, path: Path, placeOf: (offset: number) => Place): Problem[] {
  if (node.kind === 'list')
    return node.items.flatMap((item, index) => duplicates(item, [...path, index], placeOf));
  if (node.kind === 'scalar') return [];
  const first = new Map<string, number>();
  return node.entries.flatMap(({ key, offset, value }) => {
    const inside = duplicates(value, [...path, key], placeOf);
    const before = first.get(key);
    first.set(key, before ?? offset);
    if (before === undefined) return inside;
    const { line } = placeOf(before);
    const text = `${JSON.stringify(key)} stands twice, first on line ${line}: rename or remove one`;
    return [{ path: [...path, key], text }, ...inside];
  });
}
