import { realpath } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import type { HubError } from '#core';
import { parseText } from './document.ts';
import {
  type FileSeen,
  type ReadText,
  extensionRule,
  fileSeen,
  fileUnread,
  formatOf,
  misnamed,
  unreadable,
  whyUnreadable,
} from './files.ts';
import { type Spot, type Written, type WrittenEntry, isNull, valueOf } from './located.ts';
import { clashesOf, mergeFiles } from './merge.ts';
import type { Placed } from './problem.ts';

/** Of parents of parents: deeper is a mistake, and nobody can follow it. */
const maxDepth = 16;
/** Files that one config may consist of: each of them is read, watched and kept in memory. */
const maxFiles = 64;

/** A config file with all that it extends. */
export type Gathered = {
  /** All of them in one, without `extends`; undefined where the file itself is broken or empty. */
  readonly root: Written | undefined;
  /** False where a file is missing in `root`. */
  readonly complete: boolean;
  readonly problems: readonly Placed[];
  /** Every file that was read or should have been, the config file itself first. */
  readonly files: readonly FileSeen[];
  /** What the parents of the config file say, in one. */
  readonly below: Written | undefined;
  /** Why the config file itself could not be read. */
  readonly error?: HubError;
};

type Needs = {
  /** What `~` stands for: an absolute path. */
  readonly home: string;
  readonly readText: ReadText;
};

/**
 * Reads a config file and the files that it `extends`: one path or a list of them, relative to the file
 * in which it stands, and `~` for the home folder. Of a list each is laid over those before it, and the
 * file itself over all, by the rules of `mergeFiles`. Each file knows nothing of those that extend it. A
 * file that is extended twice is read once. Problems are told where they stand: a parent that is absent,
 * broken, or extends in a circle.
 */
export async function gatherFiles(file: string, { home, readText }: Needs): Promise<Gathered> {
  const files = new Map<string, FileSeen>();
  const problems: Placed[] = [];
  const done = new Map<string, Written | undefined>();
  let complete = true;
  let underRoot: Written | undefined;
  let error: HubError | undefined;

  /** `from` is where the file is named, undefined for the config file itself, which it then tells. */
  async function read(path: string, from?: Spot) {
    const fail = (text: string, ofFile: HubError): undefined => {
      if (from)
        problems.push({ spot: from, text: `${text} (${path}). Mend the path, or remove it` });
      else error = ofFile;
    };
    const format = formatOf(path);
    files.set(path, fileSeen(path, undefined));
    if (!format) return fail(extensionRule, misnamed(file));
    let text: string;
    try {
      text = await readText(path);
    } catch (cause) {
      files.set(path, fileUnread(path, cause));
      return fail(whyUnreadable(cause), unreadable(file, cause));
    }
    files.set(path, fileSeen(path, text));
    // Problems of the config file itself name it as the person did.
    const source = { file: from ? path : file, text: text.replace(/^\uFEFF/, '') };
    const parsed = await parseText(source, format);
    problems.push(...parsed.problems);
    if (parsed.root) problems.push(...clashesOf(parsed.root));
    return parsed.root;
  }

  /** The file with its parents in it. `chain` is what extends it, the config file first. */
  async function whole(path: string, chain: readonly string[], from?: Spot) {
    const real = await realpath(path).catch(() => path);
    if (chain.includes(real)) {
      const circle = [...chain.slice(chain.indexOf(real)), real].join(' → ');
      if (from)
        problems.push({ spot: from, text: `makes a circle: ${circle}. Remove one of them` });
      return undefined;
    }
    if (done.has(real)) return done.get(real);
    if (from && (chain.length > maxDepth || files.size >= maxFiles)) {
      const text = `goes beyond ${maxDepth} files in a row or ${maxFiles} in all: extend fewer`;
      problems.push({ spot: from, text });
      return undefined;
    }
    const own = await read(path, from);
    const merged = own && (await withParents(own, path, [...chain, real]));
    done.set(real, merged);
    return merged;
  }

  async function withParents(own: Written, path: string, chain: readonly string[]) {
    const parents = parentsOf(own, problems);
    const self = withoutExtends(own);
    let below: Written | undefined;
    for (const { spot, text } of parents) {
      const at = /^~[/\\]/.test(text) ? join(home, text.slice(1)) : resolve(dirname(path), text);
      const parent = await whole(at, chain, spot);
      complete &&= parent !== undefined;
      if (parent) below = below ? mergeFiles(below, parent) : parent;
    }
    if (chain.length === 1) underRoot = below;
    return below ? mergeFiles(below, self) : self;
  }

  const root = await whole(resolve(file), []);
  const seen = [...files.values()];
  return { root, complete, problems, files: seen, below: underRoot, ...(error && { error }) };
}

/** The servers that a config file has from those it extends. */
export async function inheritedServers(
  file: string,
  needs: Needs,
): Promise<ReadonlyMap<string, WrittenEntry>> {
  const { below } = await gatherFiles(file, needs);
  const groups = ['servers', 'mcpServers'].map(form => valueOf(below, form));
  const entries = groups.flatMap(group => (group?.kind === 'map' ? group.entries : []));
  const present = entries.filter(({ value }) => !isNull(value));
  return new Map(present.map(entry => [entry.key, entry]));
}

/** The paths in `extends`, as they are written. */
function parentsOf(own: Written, problems: Placed[]) {
  const named = valueOf(own, 'extends');
  if (!named) return [];
  const list = named.kind === 'list' ? named.items : [named];
  return list.flatMap(item => {
    const { spot } = item;
    if (item.kind === 'scalar' && typeof item.value === 'string' && item.value !== '') {
      if (!/^[a-z][a-z0-9+.-]+:\/\//i.test(item.value)) return [{ spot, text: item.value }];
      problems.push({ spot, text: 'is an address: write the path of a file on this machine' });
      return [];
    }
    problems.push({ spot, text: 'write the path of a file, in quotes, or a list of such paths' });
    return [];
  });
}

const withoutExtends = (own: Written): Written =>
  own.kind === 'map'
    ? { ...own, entries: own.entries.filter(({ key }) => key !== 'extends') }
    : own;
