/** Keys and list positions from the top of the file to a value. */
export type Path = readonly (string | number)[];

/** A value and where it starts, in characters from the start of the text. */
export type Located = { readonly offset: number } & (
  | { readonly kind: 'map'; readonly entries: readonly Entry[] }
  | { readonly kind: 'list'; readonly items: readonly Located[] }
  | { readonly kind: 'scalar'; readonly value: unknown }
);
export type Entry = { readonly key: string; readonly offset: number; readonly value: Located };

export type Fault = { readonly offset: number; readonly text: string };
/** What a reader of either format makes of a text. */
export type Read = { readonly root: Located | undefined; readonly fault: Fault | undefined };

/** A file as it was read, without its byte order mark. */
export type SourceText = { readonly file: string; readonly text: string };

/** Where something is written. */
export type Spot = {
  readonly source: SourceText;
  /** In characters from the start of the text. */
  readonly offset: number;
  /** What leads there in its own file. */
  readonly path: Path;
};

/** A value that knows its file, so that values of several files can be put into one. */
export type Written = { readonly spot: Spot } & (
  | { readonly kind: 'map'; readonly entries: readonly WrittenEntry[] }
  | { readonly kind: 'list'; readonly items: readonly Written[] }
  | { readonly kind: 'scalar'; readonly value: unknown }
);
export type WrittenMap = Extract<Written, { readonly kind: 'map' }>;
export type WrittenEntry = { readonly key: string; readonly spot: Spot; readonly value: Written };

/** Line and column of a spot, counted from 1. */
export function placeOf({ source, offset }: Spot): {
  readonly line: number;
  readonly column: number;
} {
  const before = source.text.slice(0, offset).split('\n');
  return { line: before.length, column: (before.at(-1) ?? '').length + 1 };
}

/** Says of each value of a text in which file it stands. */
export function written(node: Located, source: SourceText, path: Path = []): Written {
  const spot = { source, offset: node.offset, path };
  if (node.kind === 'scalar') return { kind: 'scalar', spot, value: node.value };
  if (node.kind === 'list') {
    const items = node.items.map((item, index) => written(item, source, [...path, index]));
    return { kind: 'list', spot, items };
  }
  const entries = node.entries.map(({ key, offset, value }) => {
    const at = [...path, key];
    return { key, spot: { source, offset, path: at }, value: written(value, source, at) };
  });
  return { kind: 'map', spot, entries };
}

/** The value of a key; of a key that stands twice, the last. */
export const valueOf = (node: Written | undefined, key: string): Written | undefined =>
  node?.kind === 'map' ? node.entries.findLast(entry => entry.key === key)?.value : undefined;

/** True for the value that takes away what a file in `extends` says. */
export const isNull = (node: Written): boolean => node.kind === 'scalar' && node.value === null;
