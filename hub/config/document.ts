import { isObject } from '#core';
import { findTooDeep, tooDeep } from './depth.ts';
import { readJson } from './json.ts';
import {
  type Path,
  type SourceText,
  type Spot,
  type Written,
  placeOf,
  written,
} from './located.ts';
import type { Placed, Problem } from './problem.ts';

/** How a config file may be written. */
export type Format = 'json' | 'yaml';

/** The values of a file, or of several put into one, that still know where everything stands. */
export type Document = {
  readonly value: unknown;
  /** The keys of the object at the path in the order of the file, which a JavaScript object may change. */
  readonly keysAt: (path: Path) => readonly string[];
  /** Where the value at the path, or the nearest one around it, is written; with the whole path there. */
  readonly spotOf: (path: Path) => Spot;
};

/** A parsed text; nothing where it is broken or says nothing. */
export type Parsed = {
  readonly root: Written | undefined;
  readonly problems: readonly Placed[];
};

/** Few hubs have a YAML file, and its parser takes 8 MB of memory. */
const loadYaml = async () => await import('./yaml.ts');

/**
 * Parses JSON (comments and trailing commas allowed) or YAML. Problems are broken syntax, a file
 * without content, and keys that stand twice in one object. The first syntax error only: those after
 * it mostly follow from it. `example` is what an empty file could hold.
 */
export async function parseText(
  source: SourceText,
  format: Format,
  example = format === 'json' ? '{"servers": {}}' : 'servers: {}',
): Promise<Parsed> {
  const failed = (offset: number, text: string): Parsed => ({
    root: undefined,
    problems: [{ spot: { source, offset, path: [] }, text }],
  });
  const deep = findTooDeep(source.text, format);
  if (deep !== undefined) return failed(deep, tooDeep);
  const { root, fault } =
    format === 'json' ? readJson(source.text) : (await loadYaml()).readYaml(source.text);
  const name = format === 'json' ? 'JSON' : 'YAML';
  if (fault) return failed(fault.offset, `not valid ${name}: ${fault.text}`);
  if (!root || (root.kind === 'scalar' && root.value === null))
    return failed(0, `the file is empty: write ${example}`);
  const tree = written(root, source);
  return { root: tree, problems: duplicates(tree) };
}

/** What a tree says, and where. */
export function documentOf(root: Written): Document {
  return {
    value: plain(root),
    keysAt(path) {
      const { value, rest } = walk(root, path);
      return value.kind === 'map' && rest.length === 0 ? value.entries.map(({ key }) => key) : [];
    },
    spotOf(path) {
      const { spot, rest } = walk(root, path);
      return { ...spot, path: [...spot.path, ...rest] };
    },
  };
}

/** `Object.fromEntries` makes own properties, `__proto__` included, so that no key goes unseen. */
function plain(node: Written): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plain);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
}

type Found = {
  /** Where its key stands, or itself where it has none. */
  readonly spot: Spot;
  readonly value: Written;
  /** What of the path leads to nothing. */
  readonly rest: Path;
};

/** The value at a path, or the nearest one around it. */
function walk(root: Written, path: Path): Found {
  let value = root;
  let { spot } = root;
  for (const [depth, part] of path.entries()) {
    const entry =
      value.kind === 'map' ? value.entries.findLast(({ key }) => key === part) : undefined;
    const inside = value.kind === 'list' ? value.items[Number(part)] : entry?.value;
    if (!inside) return { spot, value, rest: path.slice(depth) };
    spot = entry?.spot ?? inside.spot;
    value = inside;
  }
  return { spot, value, rest: [] };
}

function duplicates(node: Written): Placed[] {
  if (node.kind === 'list') return node.items.flatMap(duplicates);
  if (node.kind === 'scalar') return [];
  const first = new Map<string, Spot>();
  return node.entries.flatMap(({ key, spot, value }) => {
    const inside = duplicates(value);
    const before = first.get(key);
    first.set(key, before ?? spot);
    if (before === undefined) return inside;
    const { line } = placeOf(before);
    const text = `${JSON.stringify(key)} stands twice, first on line ${line}: rename or remove one`;
    return [{ spot, text }, ...inside];
  });
}

/** A problem of a document's path, at the place where that is written. */
export function placed({ path, text, showsValue }: Problem, document: Document): Placed {
  const spot = document.spotOf(path);
  return { spot, text, ...(showsValue && { shown: { value: valueAt(document.value, path) } }) };
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inside, part) => {
    if (Array.isArray(inside)) return inside[Number(part)];
    return isObject(inside) ? inside[part] : undefined;
  }, value);
}
