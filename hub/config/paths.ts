import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, posix, relative, resolve, sep } from 'node:path';

/** Where relative paths start, and what `~` stands for. Both absolute. */
export type Roots = { readonly folder: string; readonly home: string };

/** A path that may be used, or the sentence that says why it may not. */
export type Resolved =
  | {
      /** Absolute, its links not followed. */
      readonly written: string;
      /** Absolute, where it really is. */
      readonly real: string;
    }
  | { readonly refusal: string };

/**
 * The absolute form of a path. Relative ones start at the config file's folder and `~` at home, and
 * climb out of there neither by `..` nor through a link. An absolute path goes where it says.
 */
export async function resolveInside(path: string, { folder, home }: Roots): Promise<Resolved> {
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
  return isIn(real, realRoot)
    ? { written, real }
    : {
        refusal: `a link in it leads to ${JSON.stringify(real)}, outside its folder; write that path, or remove the link`,
      };
}

/** True for the folder itself and for all that is below it. Both absolute. */
export function isIn(path: string, folder: string): boolean {
  const inside = relative(folder, path);
  return inside !== '..' && !inside.startsWith(`..${sep}`) && !isAbsolute(inside);
}

/** As many links as Linux follows in one path; more of them go round in a circle. */
const mostLinks = 40;

/** Where a path leads. Of one that is absent, and may be made later, as far as there is anything. */
async function followLinks(path: string, linksLeft = mostLinks): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  const parent = dirname(path);
  if (real !== undefined || parent === path) return real ?? path;
  const here = join(await followLinks(parent, linksLeft), basename(path));
  const target = linksLeft > 0 ? await readlink(here).catch(() => undefined) : undefined;
  return target === undefined
    ? here
    : await followLinks(resolve(dirname(here), target), linksLeft - 1);
}

const kernelFolders = ['/proc', '/sys', '/dev'];

/** A path in a container at which something may be mounted, without `..` and double slashes. */
export function findTarget(path: string): string | undefined {
  const target = posix.normalize(path).replace(/(.)\/$/, '$1');
  const taken = kernelFolders.some(folder => target === folder || target.startsWith(`${folder}/`));
  return posix.isAbsolute(target) && target !== '/' && !taken ? target : undefined;
}
