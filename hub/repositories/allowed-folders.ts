import { readlink, realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from 'node:path';
import { HubError, errorCodeOf } from '#core';
import type { Principal } from '#policy';

/** Maximum number of symbolic links in a path, as in Linux. The limit ends cycles of links. */
const maxLinks = 40;

/**
 * Returns the real path of a folder that a principal may name. Links in the path and in the allowed folders are
 * resolved before the comparison. `inContainer`: the hub sees only a part of the machine. Rejects with HUB_PATH_REFUSED
 * and HUB_REPOSITORY_UNKNOWN.
 */
export async function requireAllowedPath(
  path: string,
  principal: Principal,
  folders: readonly string[],
  inContainer = false,
): Promise<string> {
  if (!isAbsolute(path) || path.includes('\0'))
    throw new HubError(
      'HUB_PATH_REFUSED',
      `${shown(path)} is not an absolute path. Write it in full, such as /home/me/projects/app`,
    );
  const { administer } = principal.grants;
  // Normalized first: with "..", the result would reveal if a folder that the caller may not see exists.
  const real = await realpath(normalize(path)).catch(async (error: unknown) => {
    // A caller that may not see the folder does not learn if it exists.
    throw administer || (await isAllowed(await placeOf(normalize(path)), folders))
      ? missing(path, error, inContainer)
      : refused(path, folders);
  });
  if (administer || (await isAllowed(real, folders))) return real;
  throw refused(path, folders);
}

async function isAllowed(place: string, folders: readonly string[]): Promise<boolean> {
  for (const folder of folders) if (isBelow(place, await placeOf(folder))) return true;
  return false;
}

/** Returns the real path of a path that may not exist: its existing part is resolved, and the rest is appended. */
async function placeOf(path: string, linksBefore = 0): Promise<string> {
  const real = await realpath(path).catch(() => undefined); // If the path does not exist, its parent folder is resolved.
  const folder = dirname(path);
  if (real !== undefined || folder === path) return real ?? path;
  const above = await placeOf(folder, linksBefore);
  const link = linksBefore < maxLinks ? await readlink(path).catch(() => undefined) : undefined; // The path is not a link.
  return link === undefined
    ? join(above, basename(path))
    : await placeOf(resolve(above, link), linksBefore + 1);
}

/** True if a path is the folder or lies in it. */
function isBelow(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

const shown = (path: string) => JSON.stringify(path.slice(0, 500));

function missing(path: string, cause: unknown, inContainer: boolean): HubError {
  const why = errorCodeOf(cause) === 'EACCES' ? 'the hub may not look there' : 'it does not exist';
  const remedy = inContainer
    ? 'The hub runs in a container, and sees only folders below AGENTHUB_MOUNT_ROOT: start it with compose/mounts.yml, or check the path. Write both without symbolic links, as realpath prints them'
    : 'Check the path';
  return new HubError('HUB_REPOSITORY_UNKNOWN', `${shown(path)}: ${why}. ${remedy}`, { cause });
}

function refused(path: string, folders: readonly string[]): HubError {
  // Decided by the path alone, so that the message does not reveal links in other folders.
  const link = folders.some(folder => isBelow(path, folder)) ? ', where a link leads' : '';
  const known =
    folders.length === 0
      ? '"repositories" in the config names no folder'
      : 'it is not in a folder that "repositories" in the config names';
  return new HubError(
    'HUB_PATH_REFUSED',
    `${shown(path)}${link}: ${known}. Add the folder that holds it to "repositories", or use the owner's key`,
  );
}
