import type { Json } from '#core';

/** Keys and list indexes from the root of a file to a value. */
export type Path = readonly (string | number)[];

/** Content of a file, without its byte order mark. */
export type SourceText = { readonly file: string; readonly text: string };

/** Offsets are in characters, and ends are exclusive. */
export type SourceLocation = {
  readonly source: SourceText;
  readonly offset: number;
  /** Path of the value within its own file. */
  readonly path: Path;
};

/** A parsed value with its location, so that files can be edited, and values of several files merged. */
export type SourceNode =
  | SourceMap
  | SourceList
  | (SourceLocation & { readonly kind: 'scalar'; readonly value: unknown; readonly end: number });
/** Its items are at their own places, unless they are aliases. */
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
/** Located at its key. */
export type SourceEntry = SourceLocation & {
  readonly key: string;
  readonly keyEnd: number;
  /** Offsets of the value as written. `value` is elsewhere if that is an alias. */
  readonly valueStart: number;
  readonly end: number;
  readonly value: SourceNode;
  readonly isAlias: boolean;
};

/** Key and value of an entry to be inserted. */
export type NewEntry = readonly [key: string, value: Json];

/** The object that is the value of an entry; undefined for another value, or an alias. */
export const mapIn = ({ value, isAlias }: SourceEntry): SourceMap | undefined =>
  value.kind === 'map' && !isAlias ? value : undefined;

/** The list that is the value of an entry; undefined for another value, or an alias. */
export const listIn = ({ value, isAlias }: SourceEntry): SourceList | undefined =>
  value.kind === 'list' && !isAlias ? value : undefined;

export type SyntaxFault = { readonly offset: number; readonly text: string };
export type Syntax = {
  readonly root: SourceNode | undefined;
  readonly fault: SyntaxFault | undefined;
};

/** Offsets at which the lines of a text begin, for files with thousands of problems. */
const lineStarts = new WeakMap<SourceText, readonly number[]>();

/** Line and column of a location, counted from 1. */
export function lineAndColumnOf({ source, offset }: SourceLocation) {
  const starts = lineStarts.get(source) ?? [
    0,
    ...Array.from(source.text.matchAll(/\n/g), ({ index }) => index + 1),
  ];
  lineStarts.set(source, starts);
  const at = Math.min(offset, source.text.length);
  const line = starts.findLastIndex(start => start <= at);
  return { line: line + 1, column: at - (starts[line] ?? 0) + 1 };
}

/** The value of a key. For duplicate keys, the last one counts. */
export const valueOf = (node: SourceNode | undefined, key: string): SourceNode | undefined =>
  node?.kind === 'map' ? node.entries.findLast(entry => entry.key === key)?.value : undefined;

/** True for `null`, which removes the value that a file in `extends` defines. */
export const isNull = (node: SourceNode): boolean => node.kind === 'scalar' && node.value === null;
