import { realpath } from 'node:fs/promises';
import { isAbsolute, relative, sep } from 'node:path';
import { HubError, errorCodeOf } from '#core';
import type { Principal } from '#policy';

/**
 * The real path of a folder that a principal may name. Links are resolved before anything is compared, in the path and in
 * the allowed folders. `inContainer`: the hub sees only a part of the machine. Rejects with HUB_PATH_REFUSED and HUB_REPOSITORY_UNKNOWN.
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
  const real = await realpath(path).catch((error: unknown) => {
    // Whoever may not look there learns nothing of what exists.
    throw administer || folders.some(folder => isBelow(path, folder))
      ? missing(path, error, inContainer)
      : refused(path, folders);
  });
  if (administer) return real;
  for (const folder of folders) {
    const root = await realpath(folder).catch(() => undefined); // A folder that does not exist has nothing in it.
    if (root !== undefined && isBelow(real, root)) return real;
  }
  throw refused(path, folders, real);
}

/** Whether a path is a folder or lies in it. */
function isBelow(path: string, folder: string): boolean {
  const rest = relative(folder, path);
  return rest === '' || (rest !== '..' && !rest.startsWith(`..${sep}`) && !isAbsolute(rest));
}

const shown = (path: string) => JSON.stringify(path.slice(0, 500));

function missing(path: string, cause: unknown, inContainer: boolean): HubError {
  const why = errorCodeOf(cause) === 'EACCES' ? 'the hub may not look there' : 'it does not exist';
  const remedy = inContainer
    ? 'The hub runs in a container, and sees only folders below AGENTHUB_MOUNT_ROOT: start it with compose/mounts.yml, or check the path'
    : 'Check the path';
  return new HubError('HUB_REPOSITORY_UNKNOWN', `${shown(path)}: ${why}. ${remedy}`, { cause });
}

function refused(path: string, folders: readonly string[], real = path): HubError {
  const link = real === path ? '' : ', where a link leads';
  const known =
    folders.length === 0
      ? '"repositories" in the config names no folder'
      : 'it is not in a folder that "repositories" in the config names';
  return new HubError(
    'HUB_PATH_REFUSED',
    `${shown(path)}${link}: ${known}. Add the folder that holds it to "repositories", or use the owner's key`,
  );
}
