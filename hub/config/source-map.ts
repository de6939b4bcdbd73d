import type { Json } from '#core';

/** Keys and list indexes from the root of a file to a value. */
export type Path = readonly (string | number)[];

/** Content of a file, without its byte order mark. */
export type SourceText = { readonly file: string; readonly text: string };

/** Position of a value in a text. All offsets are in characters, and ends are exclusive. */
export type SourceLocation = {
  readonly source: SourceText;
  readonly offset: number;
  /** Path of the value within its own file, before files are merged. */
  readonly path: Path;
};

/** A parsed value with its location, which allows editing files and merging values of several files. */
export type SourceNode =
  | SourceMap
  | SourceList
  | (SourceLocation & { readonly kind: 'scalar'; readonly value: unknown; readonly end: number });
/** A list with its items. An item has its own location, unless it is an alias. */
export type SourceList = SourceLocation & {
  readonly kind: 'list';
  readonly end: number;
  readonly items: readonly SourceNode[];
};
export type SourceMap = SourceLocation & {
  readonly kind: 'map';
  /** `braces`: JSON, or YAML flow style. `block`: YAML block style. */
  readonly style: 'braces' | 'block';
  readonly end: number;
  readonly entries: readonly SourceEntry[];
};
/** A key and its value, located at the key. */
export type SourceEntry = SourceLocation & {
  readonly key: string;
  readonly keyEnd: number;
  /** Offset at which the value is written. If `isAlias` is true, the node `value` is located at its anchor instead. */
  readonly valueStart: number;
  readonly end: number;
  readonly value: SourceNode;
  readonly isAlias: boolean;
};

/** Key and value of an entry to be inserted. */
export type NewEntry = readonly [key: string, value: Json];

/** Returns the object that is the value of an entry; undefined for another value, or an alias. */
export const mapIn = ({ value, isAlias }: SourceEntry): SourceMap | undefined =>
  value.kind === 'map' && !isAlias ? value : undefined;

/** Returns the list that is the value of an entry; undefined for another value, or an alias. */
export const listIn = ({ value, isAlias }: SourceEntry): SourceList | undefined =>
  value.kind === 'list' && !isAlias ? value : undefined;

export type SyntaxFault = { readonly offset: number; readonly text: string };
export type Syntax = {
  readonly root: SourceNode | undefined;
  readonly fault: SyntaxFault | undefined;
};

/** Offsets at which the lines of a text begin. Cached, as a file may have thousands of problems. */
const lineStarts = new WeakMap<SourceText, readonly number[]>();

/** Returns line and column of a location, both counted from 1. */
export function lineAndColumnOf({ source, offset }: SourceLocation) {
  const starts = lineStarts.get(source) ?? [
    0,
    ...Array.from(source.text.matchAll(/\n/g), ({ index }) => index + 1),
  ];
  lineStarts.set(source, starts);
  const at = Math.min(offset, source.text.length);
  // Binary search for the last line that begins at or before the offset.
  let [line, after] = [0, starts.length];
  while (after - line > 1) {
    const middle = (line + after) >> 1;
    if ((starts[middle] ?? 0) <= at) line = middle;
    else after = middle;
  }
  return { line: line + 1, column: at - (starts[line] ?? 0) + 1 };
}

/** Returns the value of a key. For duplicate keys, the last one counts. */
export const valueOf = (node: SourceNode | undefined, key: string): SourceNode | undefined =>
  node?.kind === 'map' ? node.entries.findLast(entry => entry.key === key)?.value : undefined;

/** True for `null`, which removes the value that a file in `extends` defines. */
export const isNull = (node: SourceNode): boolean => node.kind === 'scalar' && node.value === null;
