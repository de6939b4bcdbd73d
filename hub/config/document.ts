import {
  type Format,
  type ReadText,
  encodingFault,
  extensionRule,
  formatOf,
  misnamed,
  readBytes,
  readText,
  snapshotOf,
  unreadable,
  unreadableSnapshot,
  utf16Fault,
  whyUnreadable,
} from './files.ts';
import { readJson } from './json.ts';
import type { LocatedProblem, Problem } from './problem.ts';
import {
  type Path,
  type SourceEntry,
  type SourceLocation,
  type SourceMap,
  type SourceNode,
  type SourceText,
  isNull,
  lineAndColumnOf,
} from './source-map.ts';

/**
 * Reads and parses a file. `name` is its name in messages; the result's `failure` is the reason why it cannot be read.
 */
export async function readParsed(
  path: string,
  name: string,
  options: Partial<Record<'example' | 'remedy', string>> & { readonly readText?: ReadText } = {},
) {
  const format = formatOf(path);
  if (!format) {
    const failure = { why: extensionRule, error: misnamed(name) };
    return { snapshot: snapshotOf(path, undefined), root: undefined, problems: [], failure };
  }
  let text: string;
  try {
    text = await (options.readText ?? readText)(path);
  } catch (cause) {
    const error = unreadable(name, cause, options.remedy);
    const failure = { why: whyUnreadable(cause), error };
    return { snapshot: unreadableSnapshot(path, cause), root: undefined, problems: [], failure };
  }
  const source = { file: name, text: text.replace(/^\uFEFF/, '') };
  const snapshot = snapshotOf(path, text);
  // Bytes that are not UTF-8 were decoded as U+FFFD, which a text may also contain.
  const offset = source.text.indexOf('\uFFFD');
  const fault = offset < 0 ? undefined : await readEncodingFault(path);
  if (fault === undefined)
    return { snapshot, ...(await parseText(source, format, options.example)) };
  const problem = { location: { source, offset, path: [] }, text: fault };
  return { snapshot, root: undefined, problems: [problem] };
}

/** Reads a file again for its encoding. Undefined for a missing file: its text is that of a shipped file. */
const readEncodingFault = async (path: string) =>
  await readBytes(path).then(encodingFault, () => undefined);

/** Loads the YAML parser on demand: it takes 8 MB of memory, and few hubs have a YAML file. */
const loadYaml = async () => await import('./yaml.ts');

/**
 * Parses JSON or YAML. Reports only the first syntax error, because later ones mostly follow from it. `example` is
 * shown in the message for an empty file.
 */
export async function parseText(
  source: SourceText,
  format: Format,
  example = format === 'json' ? '{"servers": {}}' : 'servers: {}',
): Promise<{
  /** Root value of the text; undefined if the text is invalid or empty. */
  readonly root: SourceNode | undefined;
  readonly problems: readonly LocatedProblem[];
}> {
  const failed = (offset: number, text: string) => ({
    root: undefined,
    problems: [{ location: { source, offset, path: [] }, text }],
  });
  const fault16 = utf16Fault(source.text);
  if (fault16 !== undefined) return failed(0, fault16);
  const tooDeepAt = findTooDeep(source.text, format);
  if (tooDeepAt !== undefined) return failed(tooDeepAt, tooDeep);
  const { root, fault } =
    format === 'json' ? readJson(source) : (await loadYaml()).readYaml(source);
  const name = format === 'json' ? 'JSON' : 'YAML';
  if (fault) return failed(fault.offset, `not valid ${name}: ${fault.text}`);
  if (!root || isNull(root)) return failed(0, `the file is empty: write ${example}`);
  return { root, problems: duplicates(root) };
}

export type Document = ReturnType<typeof documentOf>;

/** Gives access to the values of a file, or of several merged files, and to their source locations. */
export const documentOf = (root: SourceNode) => ({
  value: plain(root),
  /**
   * Returns the keys of the object at `path`, in file order. JavaScript objects may reorder keys that look like
   * numbers.
   */
  keysAt(path: Path): readonly string[] {
    const { value } = walk(root, path);
    return value?.kind === 'map' ? value.entries.map(({ key }) => key) : [];
  },
  /** Returns the file that contains the value at `path`, or its nearest existing ancestor. */
  fileOf: (path: Path): string => walk(root, path).location.source.file,
  /** Adds the source location to a problem, and the invalid value if the problem shows it. */
  locate: ({ path, text, showsValue }: Problem): LocatedProblem => {
    const { location, value } = walk(root, path);
    return { location, text, ...(showsValue && { shown: { value: value && plain(value) } }) };
  },
});

/**
 * Converts a node to a plain value. `Object.fromEntries` creates own properties even for `__proto__`, so no key is
 * lost.
 */
function plain(node: SourceNode): unknown {
  if (node.kind === 'scalar') return node.value;
  if (node.kind === 'list') return node.items.map(plain);
  return Object.fromEntries(node.entries.map(({ key, value }) => [key, plain(value)]));
}

/** Finds the value at a path, and its location. If it does not exist, the location is that of its nearest ancestor. */
function walk(root: SourceNode, path: Path) {
  let value: SourceNode | undefined = root;
  let location: SourceLocation = root;
  for (const part of path) {
    const entry: SourceEntry | undefined =
      value?.kind === 'map' ? entriesOf(value).get(part) : undefined;
    value = value?.kind === 'list' ? value.items[Number(part)] : entry?.value;
    location = entry ?? value ?? { ...location, path: [...location.path, part] };
  }
  return { location, value };
}

/** Index of entries by key for each searched map, as a config may have thousands of servers. */
const indexed = new WeakMap<SourceMap, ReadonlyMap<string | number, SourceEntry>>();

/** Returns the entries of a map by key. For duplicate keys, the last one counts. */
function entriesOf(map: SourceMap): ReadonlyMap<string | number, SourceEntry> {
  const entries =
    indexed.get(map) ?? new Map(map.entries.map(entry => [entry.key, entry] as const));
  indexed.set(map, entries);
  return entries;
}

function duplicates(node: SourceNode): LocatedProblem[] {
  if (node.kind === 'list') return node.items.flatMap(duplicates);
  if (node.kind === 'scalar') return [];
  const first = new Map<string, SourceLocation>();
  return node.entries.flatMap(entry => {
    const inside = duplicates(entry.value);
    const before = first.get(entry.key);
    if (!before) {
      first.set(entry.key, entry);
      return inside;
    }
    const { line } = lineAndColumnOf(before);
    const text = `${JSON.stringify(entry.key)} appears twice, first on line ${line}: rename or remove one`;
    return [{ location: entry, text }, ...inside];
  });
}

/** Maximum nesting depth: far more than a real file needs, and far less than overflows a parser's stack. */
const maxDepth = 100;

const tooDeep = `it is nested deeper than ${maxDepth} levels: reduce the nesting`;

/**
 * Returns the offset at which a text is nested too deeply for a parser, or undefined. Counts brackets outside of
 * strings and comments in JSON. In YAML, only brackets, and nested lists on one line, can nest without indentation.
 */
function findTooDeep(text: string, format: Format): number | undefined {
  if (format === 'yaml') return findDeepYaml(text);
  let depth = 0;
  for (const { 0: token, index } of text.matchAll(
    /"(?:[^"\\\n]|\\.)*"?|\/\/.*|\/\*[^]*?\*\/|[[{\]}]/g,
  )) {
    if (token === '[' || token === '{') depth += 1;
    else if (token === ']' || token === '}') depth -= 1;
    if (depth > maxDepth) return index;
  }
  return undefined;
}

/**
 * Returns the offset at which brackets in YAML are nested too deeply. Only a long run of unclosed ones counts, because
 * brackets in plain text have no meaning.
 */
function findDeepYaml(text: string): number | undefined {
  const inLine = /(?:[-?][ \t]+){101}/.exec(text);
  const brackets = /(?:[[{](?:[^[{\]}\n]{0,200}\n?)){101}/.exec(text);
  return inLine?.index ?? brackets?.index;
}
