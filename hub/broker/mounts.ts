import { realpath, stat } from 'node:fs/promises';
import { HubError } from '#core';
import { refusal } from './refusal.ts';
import { isPlainPath } from './schema.ts';
import { show } from './target.ts';

/** Folders that hold the engine's socket, its data, or the kernel's own files: never mounted, nor their parents. */
const never = [
  '/proc',
  '/sys',
  '/dev',
  '/run',
  '/var/run',
  '/var/lib/docker',
  '/var/lib/containerd',
];

/** What users of the shipped compose files set. */
const remedy =
  'Set AGENTHUB_MOUNT_ROOT to a folder that holds it, and start the hub with -f compose/mounts.yml as well ' +
  '(without the compose files: BROKER_MOUNT_ROOTS of the broker)';

/**
 * The roots below which folders may be mounted, as configured. Throws HUB_CONFIG_INVALID for one that
 * would give away the engine.
 */
export function parseMountRoots(roots: readonly string[]): readonly string[] {
  for (const root of roots) {
    const bad = !isPlainPath(root) || never.some(path => isIn(path, root) || isIn(root, path));
    if (!bad) continue;
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `AGENTHUB_MOUNT_ROOT, which is BROKER_MOUNT_ROOTS here: ${show(root)} cannot be a root. Name absolute folders, without a slash at the end, ` +
        `that are not and do not hold any of ${never.join(', ')}`,
    );
  }
  return roots;
}

/**
 * The path to mount for `source`, with its links followed. A link below a root may have been made by
 * a server that may write there, and the engine would follow it; so what is mounted is where it leads, and that must
 * be below a root too. A root that cannot be looked into can only be mounted whole.
 */
export async function resolveSource(source: string, roots: readonly string[]): Promise<string> {
  const root = roots.find(each => isIn(source, each));
  if (root === undefined) {
    const known = roots.length === 0 ? 'there is none' : `they are ${roots.join(', ')}`;
    const isNever = never.some(path => isIn(path, source) || isIn(source, path));
    throw refusal(
      `a mount of ${show(source)}: it is below no root of what may be mounted (${known})${isNever ? '' : `. ${remedy}`}`,
    );
  }
  const rootPath = await realpath(root).catch(() => undefined);
  if (source === root && rootPath === undefined) return source;
  const found = rootPath === undefined ? undefined : await realpath(source).catch(() => undefined);
  if (found === undefined) {
    throw refusal(
      `a mount of ${show(source)}: it is not there, or the broker cannot see it. ` +
        `The broker needs ${root} mounted at the same path (compose/mounts.yml)`,
    );
  }
  const realRoots = await followed(roots);
  const leadsOut = !realRoots.some(each => isIn(found, each));
  if (leadsOut || never.some(path => isIn(path, found) || isIn(found, path))) {
    throw refusal(`a mount of ${show(source)}: a link in it leads to ${show(found)}`);
  }
  const status = await stat(found);
  if (!status.isDirectory() && !status.isFile()) {
    throw refusal(`a mount of ${show(source)}: it is neither a folder nor a file`);
  }
  return found;
}

/**
 * Looks again at a source that `resolveSource` has given: what was a folder then may be a link since.
 * Throws HUB_BROKER_REFUSED unless it leads to itself.
 */
export async function checkSource(source: string, roots: readonly string[]): Promise<void> {
  // What was resolved lies below where the roots lead, which need not be below their names.
  const found = await resolveSource(source, [...roots, ...(await followed(roots))]);
  if (found !== source)
    throw refusal(`a mount of ${show(source)}: it has become a link to ${show(found)}`);
}

function followed(roots: readonly string[]): Promise<readonly string[]> {
  return Promise.all(roots.map(each => realpath(each).catch(() => each)));
}

/** True for the folder itself and all that lies in it. */
export function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}
