import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { HubError } from '#core';
import { parseText } from './document.ts';
import {
  type FileSnapshot,
  type ReadText,
  extensionRule,
  snapshotOf,
  unreadableSnapshot,
  formatOf,
  misnamed,
  unreadable,
  whyUnreadable,
} from './files.ts';
import {
  type SourceLocation,
  type SourceNode,
  type SourceEntry,
  isNull,
  valueOf,
} from './source-map.ts';
import { findDuplicateServers, mergeFiles } from './merge.ts';
import type { LocatedProblem } from './problem.ts';

/** Maximum depth of `extends`. A deeper chain is probably a mistake. */
const maxDepth = 16;
/** Maximum number of files of one config. Each of them is read, watched and kept in memory. */
const maxFiles = 64;

/** A config file merged with the files that it extends. */
export type Gathered = {
  /** The merged files, without `extends`. Undefined if the config file itself is invalid or empty. */
  readonly root: SourceNode | undefined;
  /** False if an extended file could not be read or is missing. */
  readonly complete: boolean;
  readonly problems: readonly LocatedProblem[];
  /** Every file that was read or should have been read, the config file first. */
  readonly files: readonly FileSnapshot[];
  /** The merged files that the config file extends, without the config file itself. */
  readonly below: SourceNode | undefined;
  /** Why the config file itself could not be read. */
  readonly error?: HubError;
};

type Needs = {
  /** Home folder, for `~`. Absolute. */
  readonly home: string;
  readonly readText: ReadText;
};

/**
 * Reads a config file and the files in its `extends`: a path or a list of paths, relative to the file that contains
 * them, or starting with `~` for the home folder. Later files of a list override earlier ones, and the file itself
 * overrides all of them (see `mergeFiles`). A file does not depend on the files that extend it, and is read only
 * once. Problems are reported at the place in the file that causes them: a missing or invalid parent, or a cycle.
 */
export async function gatherFiles(file: string, { home, readText }: Needs): Promise<Gathered> {
  const files = new Map<string, FileSnapshot>();
  const problems: LocatedProblem[] = [];
  const done = new Map<string, SourceNode | undefined>();
  let complete = true;
  let inherited: SourceNode | undefined;
  let error: HubError | undefined;

  /** Reads one file. `from` is the location in `extends` that names it; undefined for the config file itself. */
  async function read(path: string, from?: SourceLocation) {
    const fail = (text: string, ofFile: HubError): undefined => {
      if (from)
        problems.push({ location: from, text: `${text} (${path}). Fix the path, or remove it` });
      else error = ofFile;
    };
    const format = formatOf(path);
    files.set(path, snapshotOf(path, undefined));
    if (!format) return fail(extensionRule, misnamed(file));
    let text: string;
    try {
      text = await readText(path);
    } catch (cause) {
      files.set(path, unreadableSnapshot(path, cause));
      return fail(whyUnreadable(cause), unreadable(file, cause));
    }
    files.set(path, snapshotOf(path, text));
    // Report problems of the config file under the name that the user gave.
    const source = { file: from ? path : file, text: text.replace(/^\uFEFF/, '') };
    const parsed = await parseText(source, format);
    problems.push(...parsed.problems);
    if (parsed.root) problems.push(...findDuplicateServers(parsed.root));
    return parsed.root;
  }

  /** Returns a file merged with its parents. `chain` holds the files that extend it, the config file first. */
  async function readMerged(path: string, chain: readonly string[], from?: SourceLocation) {
    const real = await realpath(path).catch(() => path);
    if (chain.includes(real)) {
      const cycle = [...chain.slice(chain.indexOf(real)), real].join(' → ');
      if (from)
        problems.push({ location: from, text: `makes a cycle: ${cycle}. Remove one of them` });
      return undefined;
    }
    if (done.has(real)) return done.get(real);
    if (from && (chain.length > maxDepth || files.size >= maxFiles)) {
      const text = `exceeds ${maxDepth} levels or ${maxFiles} files in total: extend fewer files`;
      problems.push({ location: from, text });
      return undefined;
    }
    const own = await read(path, from);
    const merged = own && (await mergeParents(own, path, [...chain, real]));
    done.set(real, merged);
    return merged;
  }

  async function mergeParents(own: SourceNode, path: string, chain: readonly string[]) {
    const parents = parentsOf(own, problems);
    const self = withoutExtends(own);
    let below: SourceNode | undefined;
    for (const { location, text } of parents) {
      const at = /^~[/\\]/.test(text) ? join(home, text.slice(1)) : resolve(dirname(path), text);
      const parent = await readMerged(at, chain, location);
      complete &&= parent !== undefined;
      if (parent) below = below ? mergeFiles(below, parent) : parent;
    }
    if (chain.length === 1) inherited = below;
    return below ? mergeFiles(below, self) : self;
  }

  const root = await readMerged(resolve(file), []);
  const seen = [...files.values()];
  return { root, complete, problems, files: seen, below: inherited, ...(error && { error }) };
}

/** The servers that a config file inherits from the files in its `extends`. */
export async function inheritedServers(
  file: string,
  needs: Needs,
): Promise<ReadonlyMap<string, SourceEntry>> {
  const { below } = await gatherFiles(file, needs);
  const groups = ['servers', 'mcpServers'].map(form => valueOf(below, form));
  const entries = groups.flatMap(group => (group?.kind === 'map' ? group.entries : []));
  const present = entries.filter(({ value }) => !isNull(value));
  return new Map(present.map(entry => [entry.key, entry]));
}

/** The paths in `extends`, as written. */
function parentsOf(own: SourceNode, problems: LocatedProblem[]) {
  const named = valueOf(own, 'extends');
  if (!named) return [];
  const list = named.kind === 'list' ? named.items : [named];
  return list.flatMap(item => {
    const { location } = item;
    if (item.kind === 'scalar' && typeof item.value === 'string' && item.value !== '') {
      if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(item.value)) return [{ location, text: item.value }];
      problems.push({ location, text: 'is a URL: write the path of a file on this machine' });
      return [];
    }
    problems.push({
      location,
      text: 'write the path of a file, in quotes, or a list of such paths',
    });
    return [];
  });
}

const withoutExtends = (own: SourceNode): SourceNode =>
  own.kind === 'map'
    ? { ...own, entries: own.entries.filter(({ key }) => key !== 'extends') }
    : own;
