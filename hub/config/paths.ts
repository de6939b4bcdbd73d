import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep } from 'node:path';

/** A path as written and with symbolic links resolved, both absolute. */
export type ResolvedPath = { readonly written: string; readonly real: string };
/** `refusal` is the reason why a path is not allowed. */
export type Resolved = ResolvedPath | { readonly refusal: string };

/**
 * Resolves a path. Relative paths start at the config file's folder and `~` at the home folder. They may not leave
 * these folders, neither by `..` nor through a link. Absolute paths are not restricted.
 */
export async function resolveInside(
  path: string,
  { folder, home }: { readonly folder: string; readonly home: string },
): Promise<Resolved> {
  if (isAbsolute(path)) {
    const written = resolve(path);
    return { written, real: await followLinks(written) };
  }
  const atHome = path === '~' || path.startsWith('~/') || path.startsWith(`~${sep}`);
  const root = atHome ? home : folder;
  const written = resolve(root, atHome ? `.${path.slice(1)}` : path);
  if (!isIn(written, root))
    return { refusal: 'it leaves its folder; write it without "..", or as an absolute path' };
  const [real, realRoot] = await Promise.all([followLinks(written), followLinks(root)]);
  if (isIn(real, realRoot)) return { written, real };
  return {
    refusal: `a link in it leads to ${JSON.stringify(real)}, outside its folder; write that path, or remove the link`,
  };
}

/** True if `path` is the folder itself or inside it. Both paths are absolute. */
export function isIn(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** Maximum number of links in one path, as in Linux. A path with more is treated as a cycle. */
const maxLinks = 40;

/** Resolves the symbolic links of a path, or of its existing part if the path does not exist yet. */
export async function followLinks(path: string, linksLeft = maxLinks): Promise<string> {
  const real = await realpath(path).catch(() => undefined); // A part of the path does not exist.
  const parent = dirname(path);
  if (real !== undefined || parent === path) return real ?? path;
  const here = join(await followLinks(parent, linksLeft), basename(path));
  const target = linksLeft > 0 ? await readlink(here).catch(() => undefined) : undefined; // The path is not a link.
  return target === undefined
    ? here
    : await followLinks(resolve(dirname(here), target), linksLeft - 1);
}

const kernelFolders = ['/proc', '/sys', '/dev'];

/** Normalizes the target path of a mount in a container; returns undefined if it is not allowed. */
export function findTarget(path: string): string | undefined {
  const target = posix.normalize(path).replace(/(.)\/$/, '$1');
  const taken = kernelFolders.some(folder => target === folder || target.startsWith(`${folder}/`));
  return posix.isAbsolute(target) && target !== '/' && !taken ? target : undefined;
}
