import { stat } from 'node:fs/promises';
import type { LocalLaunch, ServerConfig } from './normalize.ts';

/** A file or folder of this machine as a mount. */
type MountAccess = {
  readonly source: string;
  readonly isWritable: boolean;
  readonly isFolder: boolean;
  readonly uid: number;
  readonly gid: number;
  /** Permission bits. */
  readonly mode: number;
};

/** The user of a package's image, unless its entry names another one. */
const packageUser = { uid: 1000, gid: 1000 };

type User = { readonly uid: number; readonly gid: number };

/**
 * The user as whom a server can use its mounts: undefined if that is its own, or if none can. Files belong to this
 * machine's user, who may have another number than the user in the container. `problems` are sentences with a remedy.
 */
export function userForMounts(mounts: readonly MountAccess[]): {
  readonly user: string | undefined;
  readonly problems: readonly string[];
} {
  const closed = mounts.filter(mount => !mayUse(mount, packageUser));
  const [first] = closed;
  if (!first) return { user: undefined, problems: [] };
  // Root in a container owns all mounts, and is never chosen without a question.
  if (first.uid !== 0 && mounts.every(mount => mayUse(mount, first)))
    return { user: `${first.uid}:${first.gid}`, problems: [] };
  return { user: undefined, problems: closed.map(mount => problemOf(mount, packageUser)) };
}

/**
 * One sentence with a remedy for each mount that the user of its server's container cannot use. Nothing about images
 * without `user`, whose user only the engine knows, nor about paths that this process cannot see.
 */
export async function mountWarnings(
  servers: readonly Pick<ServerConfig, 'name' | 'enabled' | 'launch'>[],
): Promise<readonly string[]> {
  // Elsewhere the engine runs in a virtual machine, which maps the owners of files.
  if (process.platform !== 'linux') return [];
  const warnings = servers.map(async ({ name, enabled, launch }) => {
    const user = enabled && launch.kind === 'local' ? userOf(launch) : undefined;
    if (user === undefined || launch.kind !== 'local') return [];
    const mounts = await Promise.all(launch.sandbox.mounts.map(accessOf));
    return mounts
      .flatMap(mount => mount ?? [])
      .filter(mount => !mayUse(mount, user))
      .map(mount => `${name}: ${problemOf(mount, user)}`);
  });
  return (await Promise.all(warnings)).flat();
}

/** The user of a server's container; undefined if unknown, or if it has no container. */
function userOf({ runtime, package: spec, sandbox }: LocalLaunch): User | undefined {
  if (runtime === 'process') return undefined;
  if (sandbox.user === undefined) return spec && packageUser;
  const [, uid, gid = uid] = /^(\d+)(?::(\d+))?$/.exec(sandbox.user) ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

async function accessOf({
  source,
  readOnly,
}: {
  readonly source: string;
  readonly readOnly: boolean;
}): Promise<MountAccess | undefined> {
  const found = await stat(source).catch(() => undefined); // A hub in a container does not see all paths.
  if (!found) return undefined;
  const { uid, gid, mode } = found;
  return { source, isWritable: !readOnly, isFolder: found.isDirectory(), uid, gid, mode };
}

function problemOf({ source, isWritable, uid, gid, isFolder }: MountAccess, user: User): string {
  const act = isWritable ? 'write to' : 'read';
  const bits = `${isWritable ? 'rw' : 'r'}${isFolder ? 'X' : ''}`;
  const { uid: own } = user;
  return `it runs as user ${own}, who cannot ${act} ${source}, which belongs to ${uid}:${gid}. Allow it with "setfacl -R -m u:${own}:${bits} ${quoted(source)}", or add "user": "${uid}:${gid}" to its entry`;
}

/** Whether a user has the access that a mount is for. */
function mayUse({ uid, gid, mode, isFolder, isWritable }: MountAccess, user: User): boolean {
  const shift = user.uid === uid ? 6 : user.gid === gid ? 3 : 0;
  const wanted = 4 + (isWritable ? 2 : 0) + (isFolder ? 1 : 0);
  return user.uid === 0 || ((mode >> shift) & wanted) === wanted;
}

const quoted = (path: string) =>
  /^[\w/.@-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`;
