import { posix, resolve, win32 } from 'node:path';
import { type Json, type JsonObject, isJsonObject } from '#core';
import { escapeDollars } from './entry-variables.ts';

/** Owner and mode of a file or folder of this machine. */
export type FoundPath = {
  readonly isFolder: boolean;
  readonly uid: number;
  readonly gid: number;
  /** Permission bits as in the `mode` of `stat`. */
  readonly mode: number;
};

/** A mount of a file or folder that a server's entry names. */
type FolderMount = FoundPath & {
  readonly source: string;
  /** Path of the mount in the container. */
  readonly target: string;
  readonly isWritable: boolean;
};

type Needs = {
  readonly machine: {
    readonly home: string;
    /** Path of the current folder. */
    readonly folder: string;
    readonly find: (path: string) => Promise<FoundPath | undefined>;
  };
  /** Folder in which the client starts the server; undefined if unknown. Relative paths then stay unchanged. */
  readonly base: string | undefined;
  /**
   * Returns the value of a text that is one reference to a variable, such as `${HOME}`; undefined for any other text.
   */
  readonly valueOf: (text: string) => string | undefined;
  readonly isWritable: boolean;
  /** Additional mounts: `FOLDER`, `FOLDER:rw` or `FOLDER:/path[:rw]`. */
  readonly more: readonly string[];
};

/**
 * Finds files and folders of this machine in the arguments and variables of an entry. Returns their mounts, and the
 * entry with their paths in the container. Paths that do not exist (`missing`) stay unchanged.
 */
export async function mountFolders(
  entry: JsonObject,
  needs: Needs,
): Promise<{
  readonly entry: JsonObject;
  readonly mounts: readonly FolderMount[];
  readonly missing: readonly string[];
}> {
  const mounts: FolderMount[] = [];
  const missing: string[] = [];
  const replace = async (written: Json): Promise<Json> => {
    if (typeof written !== 'string') return written;
    const value = needs.valueOf(written);
    if (value === undefined && written.replaceAll('$$', '').includes('${')) return written;
    const text = value ?? written.replaceAll('$$', () => '$');
    const [, option = '', path = ''] = pathPattern.exec(text) ?? [];
    const source = path === '' ? undefined : absolute(path, needs);
    const found =
      source === undefined || isKernels(source) ? undefined : await needs.machine.find(source);
    if (source === undefined) return written;
    if (!found) {
      if (!isKernels(source)) missing.push(source);
      return written;
    }
    const target = targetOf(source);
    mounts.push({ ...found, source, target, isWritable: needs.isWritable });
    return option + escapeDollars(target);
  };
  const args = entry['args'];
  const newArgs = Array.isArray(args) ? await Array.fromAsync(args, replace) : undefined;
  const env = Object.entries(objectOf(entry['env']));
  const newEnv = await Array.fromAsync(env, async ([name, text]) => [name, await replace(text)]);
  const changed: JsonObject = {
    ...entry,
    ...(newArgs && { args: newArgs }),
    ...(env.length > 0 && { env: Object.fromEntries(newEnv) }),
  };
  const more = await Array.fromAsync(needs.more, text => namedMount(text, needs));
  const kept = withoutInner([...mounts, ...more.flat()]);
  if (kept.length === 0) return { entry, mounts: [], missing };
  const old = entry['mounts'];
  return {
    entry: { ...changed, mounts: [...(Array.isArray(old) ? old : []), ...kept.map(mountText)] },
    mounts: kept,
    missing,
  };
}

/** Returns the mount for `source:target:mode` of the user; empty if the source does not exist. */
async function namedMount(text: string, needs: Needs): Promise<readonly FolderMount[]> {
  const [, path = text, target, mode] =
    /^((?:[A-Za-z]:)?[^:]+)(?::(\/[^:]*))?(?::(ro|rw))?$/.exec(text) ?? [];
  const source = absolute(path, needs) ?? resolve(needs.machine.folder, path);
  const found = await needs.machine.find(source);
  const isWritable = mode === 'rw' || (mode === undefined && needs.isWritable);
  return found ? [{ ...found, source, target: target ?? targetOf(source), isWritable }] : [];
}

/**
 * Pattern of a path, with an optional `--option=` before it. The path is absolute, or begins with `~`, a drive letter
 * or a dot.
 */
const pathPattern = /^(--?[\w-]+=)?((?:\/|[A-Za-z]:[\\/]|~(?=$|[\\/])|\.\.?(?=$|[\\/]))[^]*)$/;

function absolute(path: string, { machine: { home }, base }: Needs): string | undefined {
  if (path.startsWith('~')) return resolve(home, `.${path.slice(1).replaceAll('\\', '/')}`);
  if (/^[A-Za-z]:/.test(path)) return win32.normalize(path).replace(/(.)\\$/, '$1');
  if (path.startsWith('.')) return base === undefined ? undefined : resolve(base, path);
  return posix.normalize(path).replace(/(.)\/$/, '$1');
}

/** True for folders of the kernel, which every container has itself. */
const isKernels = (path: string) => /^\/(?:proc|sys|dev)(?:\/|$)/.test(path);

/**
 * Folders that images use themselves. A mount there, or in a folder that only root may enter, would break the
 * container.
 */
const imageFolders =
  /^\/(?:$|(?:app|bin|boot|etc|lib\w*|opt|root|run|sbin|usr|var)(?:\/|$)|(?:data|home|home\/mcp|tmp)$)/;

/** Returns the path in a container: the same where possible, because people and models know it. */
function targetOf(path: string): string {
  const plain = path
    .replace(/^([A-Za-z]):/, (_, drive: string) => `/${drive.toLowerCase()}`)
    .replaceAll('\\', '/');
  return imageFolders.test(plain) ? posix.join('/mnt', plain) : plain;
}

/** Removes mounts that a mount of an outer folder contains at the same path. */
function withoutInner(mounts: readonly FolderMount[]): readonly FolderMount[] {
  // A folder with two targets is mounted at both of them.
  const unique = [...new Map(mounts.map(one => [`${one.source}\0${one.target}`, one])).values()];
  return unique.filter(
    one =>
      !unique.some(
        other =>
          other !== one &&
          one.source.startsWith(`${other.source}/`) &&
          one.target.startsWith(`${other.target}/`),
      ),
  );
}

/** Formats a mount in the short form, or as an object if its path contains a colon. */
function mountText({
  source,
  target,
  isWritable,
}: Pick<FolderMount, 'source' | 'target' | 'isWritable'>): Json {
  const [from, to] = [escapeDollars(source), escapeDollars(target)];
  if (/^(?:[A-Za-z]:)?[^:]*$/.test(from) && !to.includes(':'))
    return `${from}:${to}${isWritable ? ':rw' : ''}`;
  return { source: from, target: to, ...(isWritable && { read_only: false }) };
}

/** Returns an object unchanged, and an empty object for any other value. */
export const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});
