import { basename, isAbsolute, posix, relative, resolve, sep } from 'node:path';

/** Where relative paths start, and what `~` stands for. Both absolute. */
export type Roots = { readonly folder: string; readonly home: string };

/**
 * The absolute form of a path. Relative ones start at the config file's folder and `~` at home;
 * undefined for one that climbs out of there. An absolute path goes where it says.
 */
export function resolveInside(path: string, { folder, home }: Roots): string | undefined {
  if (isAbsolute(path)) return resolve(path);
  const atHome = path === '~' || path.startsWith('~/') || path.startsWith(`~${sep}`);
  const root = atHome ? home : folder;
  const whole = resolve(root, atHome ? `.${path.slice(1)}` : path);
  const inside = relative(root, whole);
  return inside === '..' || inside.startsWith(`..${sep}`) || isAbsolute(inside) ? undefined : whole;
}

const kernelFolders = ['/proc', '/sys', '/dev'];

/** A path in a container at which something may be mounted, without `..` and double slashes. */
export function findTarget(path: string): string | undefined {
  const target = posix.normalize(path).replace(/(.)\/$/, '$1');
  const taken = kernelFolders.some(folder => target === folder || target.startsWith(`${folder}/`));
  return posix.isAbsolute(target) && target !== '/' && !taken ? target : undefined;
}

const socketNames = ['docker.sock', 'podman.sock', 'containerd.sock', 'docker.raw.sock'];
const socketFolders = ['/', '/run', '/var', '/var/run'];

/** True for an engine's socket and for the folders that hold it: it gives power over the machine. */
export function holdsEngineSocket(source: string): boolean {
  return socketFolders.includes(source) || socketNames.includes(basename(source));
}
