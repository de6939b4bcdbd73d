import { realpath, stat } from 'node:fs/promises';
import { HubError } from '#core';
import { refusal, show } from './refusal.ts';
import { isPlainPath } from './schema.ts';

/** Folders with the engine's socket or data, or kernel files. Neither they nor their parents are ever mounted. */
const forbidden = '/proc /sys /dev /run /var/run /var/lib/docker /var/lib/containerd'.split(' ');

/** True if a path is a forbidden folder, lies in one or contains one. */
const isForbidden = (path: string) => forbidden.some(each => touches(path, each));

/** True if one path is the other or lies in it. */
const touches = (one: string, other: string) => isIn(one, other) || isIn(other, one);

/** Advice to set the mount roots, by the variable of the shipped compose files. */
const remedy =
  'Set AGENTHUB_MOUNT_ROOT to a folder that holds it, and start the hub with -f compose/mounts.yml as well ' +
  '(without the compose files: BROKER_MOUNT_ROOTS of the broker)';

/** Checks the configured mount roots. Throws HUB_CONFIG_INVALID for a root that would expose the engine. */
export function parseMountRoots(roots: readonly string[]): readonly string[] {
  for (const root of roots) {
    if (isPlainPath(root) && !isForbidden(root)) continue;
    throw new HubError(
      'HUB_CONFIG_INVALID',
      `AGENTHUB_MOUNT_ROOT, which is BROKER_MOUNT_ROOTS here: ${show(root)} cannot be a root. Name absolute folders, without a slash at the end, ` +
        `that are not and do not hold any of ${forbidden.join(', ')}`,
    );
  }
  return roots;
}

/**
 * Resolves the path to mount for `source`, following its symbolic links, and requires the result to be below a root
 * too: a server with a writable mount may have created the link, and the engine would follow it. A root that the broker
 * cannot see can only be mounted whole. `engineData`: the engine's data folder (`data-root`), if known. Rejects with
 * HUB_BROKER_REFUSED.
 */
export async function resolveSource(
  source: string,
  roots: readonly string[],
  engineData?: string,
): Promise<string> {
  const refuse = (problem: string) => refusal(`a mount of ${show(source)}: ${problem}`);
  const root = roots.find(each => isIn(source, each));
  if (root === undefined) {
    const known = roots.length === 0 ? 'none is configured' : `roots: ${roots.join(', ')}`;
    const advice = isForbidden(source) ? '' : `. ${remedy}`;
    throw refuse(`it is not below a mount root (${known})${advice}`);
  }
  const refuseData = (path: string) => {
    if (engineData !== undefined && touches(path, engineData))
      throw refuse(
        `the engine keeps its data in ${show(engineData)}, which no server gets. Name folders beside it`,
      );
  };
  const rootPath = await realpath(root).catch(() => undefined); // The root may not exist yet.
  refuseData(source);
  if (source === root && rootPath === undefined) return source;
  const found = rootPath === undefined ? undefined : await realpath(source).catch(() => undefined); // A missing source is refused below.
  if (found === undefined)
    throw refuse(
      'it is not there, or the broker cannot see it. ' +
        `The broker needs ${root} mounted at the same path (compose/mounts.yml)`,
    );
  const realRoots = await resolveRoots(roots);
  if (!realRoots.some(each => isIn(found, each)) || isForbidden(found))
    throw refuse(`a link in it leads to ${show(found)}`);
  refuseData(found);
  const status = await stat(found);
  if (!status.isDirectory() && !status.isFile()) throw refuse('it is neither a folder nor a file');
  return found;
}

/** Rejects with HUB_BROKER_REFUSED if a link has replaced a path that `resolveSource` returned earlier. */
export async function checkSource(
  source: string,
  roots: readonly string[],
  engineData?: string,
): Promise<void> {
  // Resolved paths are below the resolved roots, which may differ from their configured names.
  const allRoots = [...roots, ...(await resolveRoots(roots))];
  const found = await resolveSource(source, allRoots, engineData);
  if (found !== source)
    throw refusal(`a mount of ${show(source)}: it has become a link to ${show(found)}`);
}

const resolveRoots = (roots: readonly string[]) =>
  Promise.all(roots.map(each => realpath(each).catch(() => each)));

/** True if a path is the folder itself or lies in it. */
export function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith('/') ? folder : `${folder}/`);
}
