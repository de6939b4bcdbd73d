import type { FolderMount } from './folder-mounts.ts';

/** The user of a package's image, unless its entry names another one. */
const packageUser = { uid: 1000, gid: 1000 };

type User = { readonly uid: number; readonly gid: number };

/**
 * The user as whom a server can use its mounts: undefined if that is its own, or if none can. Files belong to this
 * machine's user, who may have another number than the user in the container. `problems` are sentences with a remedy.
 */
export function userForMounts(mounts: readonly FolderMount[]): {
  readonly user: string | undefined;
  readonly problems: readonly string[];
} {
  const closed = mounts.filter(mount => !mayUse(mount, packageUser));
  const [first] = closed;
  if (!first) return { user: undefined, problems: [] };
  // Root in a container owns all mounts, and is never chosen without a question.
  if (first.uid !== 0 && mounts.every(mount => mayUse(mount, first)))
    return { user: `${first.uid}:${first.gid}`, problems: [] };
  return { user: undefined, problems: closed.map(problemOf) };
}

function problemOf({ source, isWritable, uid, gid, isFolder }: FolderMount): string {
  const act = isWritable ? 'write to' : 'read';
  const bits = `${isWritable ? 'rw' : 'r'}${isFolder ? 'X' : ''}`;
  const { uid: own } = packageUser;
  return `it runs as user ${own}, who cannot ${act} ${source}, which belongs to ${uid}:${gid}. Allow it with "setfacl -R -m u:${own}:${bits} ${quoted(source)}", or add "user": "${uid}:${gid}" to its entry`;
}

/** Whether a user has the access that a mount is for. */
function mayUse({ uid, gid, mode, isFolder, isWritable }: FolderMount, user: User): boolean {
  const shift = user.uid === uid ? 6 : user.gid === gid ? 3 : 0;
  const wanted = 4 + (isWritable ? 2 : 0) + (isFolder ? 1 : 0);
  return user.uid === 0 || ((mode >> shift) & wanted) === wanted;
}

const quoted = (path: string) =>
  /^[\w/.@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
