/** Keys and list indexes from the root of a file to a value. */
export type Path = readonly (string | number)[];

/** A parsed value and its start offset. Offsets are in characters, and ends are exclusive. */
export type SyntaxNode =
  | SyntaxMap
  | { readonly kind: 'list'; readonly offset: number; readonly items: readonly SyntaxNode[] }
  | { readonly kind: 'scalar'; readonly offset: number; readonly value: unknown };
export type SyntaxMap = {
  readonly kind: 'map';
  /** `braces`: JSON, or YAML flow style. `block`: YAML block style. */
  readonly style: 'braces' | 'block';
  readonly offset: number;
  readonly end: number;
  readonly entries: readonly SyntaxEntry[];
};
export type SyntaxEntry = {
  readonly key: string;
  readonly offset: number;
  readonly keyEnd: number;
  /** Offsets of the value as written. `value` is elsewhere if that is an alias. */
  readonly valueStart: number;
  readonly end: number;
  readonly value: SyntaxNode;
  readonly isAlias: boolean;
};

/** The object that is the value of an entry; undefined for another value, or an alias. */
export const mapIn = ({ value, isAlias }: SyntaxEntry): SyntaxMap | undefined =>
  value.kind === 'map' && !isAlias ? value : undefined;

export type SyntaxFault = { readonly offset: number; readonly text: string };
export type Syntax = {
  readonly root: SyntaxNode | undefined;
  readonly fault: SyntaxFault | undefined;
};

/** Content of a file, without its byte order mark. */
export type SourceText = { readonly file: string; readonly text: string };

export type SourceLocation = {
  readonly source: SourceText;
  readonly offset: number;
  /** Path of the value within its own file. */
  readonly path: Path;
};

/** A parsed value with its file, so that values of several files can be merged. */
export type SourceNode = { readonly location: SourceLocation } & (
  | { readonly kind: 'map'; readonly entries: readonly SourceEntry[] }
  | { readonly kind: 'list'; readonly items: readonly SourceNode[] }
  | { readonly kind: 'scalar'; readonly value: unknown }
);
export type SourceObject = Extract<SourceNode, { readonly kind: 'map' }>;
export type SourceEntry = {
  readonly key: string;
  readonly location: SourceLocation;
  readonly value: SourceNode;
};

/** Line and column of a location, counted from 1. */
export function lineAndColumnOf({ source, offset }: SourceLocation): {
  readonly line: number;
  readonly column: number;
} {
  const before = source.text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/** Adds the file to each value of a parsed tree. */
export function attachSource(node: SyntaxNode, source: SourceText, path: Path = []): SourceNode {
  const location = { source, offset: node.offset, path };
  if (node.kind === 'scalar') return { kind: 'scalar', location, value: node.value };
  if (node.kind === 'list') {
    const items = node.items.map((item, index) => attachSource(item, source, [...path, index]));
    return { kind: 'list', location, items };
  }
  const entries = node.entries.map(({ key, offset, value }) => {
    const at = [...path, key];
    return { key, location: { source, offset, path: at }, value: attachSource(value, source, at) };
  });
  return { kind: 'map', location, entries };
}

/** The value of a key. For duplicate keys, the last one counts. */
export const valueOf = (node: SourceNode | undefined, key: string): SourceNode | undefined =>
  node?.kind === 'map' ? node.entries.findLast(entry => entry.key === key)?.value : undefined;

/** True for `null`, which removes the value that a file in `extends` defines. */
export const isNull = (node: SourceNode): boolean => node.kind === 'scalar' && node.value === null;
