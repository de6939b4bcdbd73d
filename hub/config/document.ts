import { readJson } from './json.ts';
import type { Located } from './located.ts';
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

/** Few hubs have a YAML file, and its parser takes 8 MB of memory. */
const loadYaml = async () => await import('./yaml.ts');

/**
 * Parses JSON (comments and trailing commas allowed) or YAML. Problems are broken syntax, a file
 * without content, and keys that stand twice in one object. The first syntax error only: those after
 * it mostly follow from it.
 */
export async function parseText(text: string, format: 'json' | 'yaml'): Promise<Parsed> {
  const clean = text.replace(/^\uFEFF/, '');
  const { root, fault } = format === 'json' ? readJson(clean) : (await loadYaml()).readYaml(clean);
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
