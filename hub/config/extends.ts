import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { HubError } from '#core';
import { readParsed } from './document.ts';
import type { FileSnapshot, ReadText } from './files.ts';
import { findDuplicateServers, forms, mergeFiles } from './merge.ts';
import type { LocatedProblem } from './problem.ts';
import { type SourceLocation, type SourceNode, isNull, valueOf } from './source-map.ts';

/** Maximum depth of `extends`. A deeper chain is probably a mistake. */
const maxDepth = 16;
/** Maximum number of files of one config, as each of them is read, watched and kept in memory. */
const maxFiles = 64;

type Needs = {
  readonly home: string;
  readonly readText: ReadText;
};

/**
 * Reads a config file and the files in its `extends`: a path or a list of paths, relative to the file that contains
 * them, or starting with `~` for the home folder. Later files of a list override earlier ones, and the file itself
 * overrides all of them (see `mergeFiles`). A file does not depend on the files that extend it, and is read only
 * once. Problems are reported at the place in the file that causes them: a missing or invalid parent, or a cycle.
 */
export async function gatherFiles(file: string, { home, readText }: Needs) {
  const files = new Map<string, FileSnapshot>();
  const problems: LocatedProblem[] = [];
  const done = new Map<string, SourceNode | undefined>();
  let complete = true;
  let inherited: SourceNode | undefined;
  let error: HubError | undefined;

  const refuse = (location: SourceLocation, text: string): undefined =>
    void problems.push({ location, text });

  /** Reads one file. `from` is the location in `extends` that names it; undefined for the config file itself. */
  async function read(path: string, from?: SourceLocation) {
    // Problems of the config file are reported under the name that the user gave.
    const parsed = await readParsed(path, from ? path : file, { readText });
    const { snapshot, failure, root } = parsed;
    files.set(path, snapshot);
    if (failure && from) refuse(from, `${failure.why} (${path}). Fix the path, or remove it`);
    else error ??= failure?.error;
    problems.push(...parsed.problems, ...(root ? findDuplicateServers(root) : []));
    return root;
  }

  /**
   * Returns a file merged with the files that it extends. `chain` has the files that extend it, the config file first.
   */
  async function readMerged(path: string, chain: readonly string[], from?: SourceLocation) {
    const real = await realpath(path).catch(() => path);
    if (from && chain.includes(real)) {
      const cycle = [...chain.slice(chain.indexOf(real)), real].join(' → ');
      return refuse(from, `makes a cycle: ${cycle}. Remove one of them`);
    }
    if (done.has(real)) return done.get(real);
    if (from && (chain.length > maxDepth || files.size >= maxFiles))
      return refuse(
        from,
        `exceeds ${maxDepth} levels or ${maxFiles} files in total: extend fewer files`,
      );
    const own = await read(path, from);
    const merged = own && (await mergeParents(own, path, [...chain, real]));
    done.set(real, merged);
    return merged;
  }

  async function mergeParents(own: SourceNode, path: string, chain: readonly string[]) {
    const self = withoutExtends(own);
    let below: SourceNode | undefined;
    for (const { location, path: named } of parentsOf(own, problems)) {
      const isInHome = /^~[/\\]/.test(named);
      const at = isInHome ? join(home, named.slice(1)) : resolve(dirname(path), named);
      const parent = await readMerged(at, chain, location);
      complete &&= parent !== undefined;
      if (parent) below = below ? mergeFiles(below, parent) : parent;
    }
    if (chain.length === 1) inherited = below;
    return below ? mergeFiles(below, self) : self;
  }

  const root = await readMerged(resolve(file), []);
  return {
    /** Root of the merged files, without `extends`. Undefined if the config file itself is invalid or empty. */
    root,
    /** False if an extended file could not be read or is missing. */
    complete,
    problems,
    /** Snapshots of all files that belong to the config, even unreadable ones, the config file first. */
    files: [...files.values()],
    /** Root of the files that the config file extends, merged, without the config file itself. */
    below: inherited,
    /** Error if the config file itself could not be read. */
    error,
  };
}

/** Returns the entry of a server that a config file inherits from the files in its `extends`. */
export async function inheritedServer(
  file: string,
  name: string,
  needs: Needs,
): Promise<SourceNode | undefined> {
  const { below } = await gatherFiles(file, needs);
  const entries = forms.map(form => valueOf(valueOf(below, form), name));
  return entries.findLast(entry => entry && !isNull(entry));
}

function parentsOf(own: SourceNode, problems: LocatedProblem[]) {
  const named = valueOf(own, 'extends');
  if (!named) return [];
  const list = named.kind === 'list' ? named.items : [named];
  return list.flatMap(item => {
    const path = item.kind === 'scalar' && typeof item.value === 'string' ? item.value : '';
    const isUrl = /^[a-z][a-z0-9+.-]+:\/\//i.test(path);
    if (path !== '' && !isUrl) return [{ location: item, path }];
    const text = isUrl
      ? 'is a URL: write the path of a file on this machine'
      : 'write the path of a file, in quotes, or a list of such paths';
    problems.push({ location: item, text });
    return [];
  });
}

const withoutExtends = (own: SourceNode): SourceNode =>
  own.kind === 'map'
    ? { ...own, entries: own.entries.filter(({ key }) => key !== 'extends') }
    : own;
