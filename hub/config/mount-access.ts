import { stat } from 'node:fs/promises';
import { shellWord } from '#core';
import type { LocalLaunch, ServerConfig } from './normalize.ts';
import type { Sandbox } from './sandbox.ts';

/** Owner and mode of a mounted file or folder of this machine. */
type MountAccess = {
  readonly source: string;
  readonly isWritable: boolean;
  readonly isFolder: boolean;
  readonly uid: number;
  readonly gid: number;
  /** Permission bits as in the `mode` of `stat`. */
  readonly mode: number;
};

/** Default user in the image of a package, unless the entry sets `user`. */
const packageUser = { uid: 1000, gid: 1000 };

type User = { readonly uid: number; readonly gid: number };

/**
 * Returns a user for the container who can use all mounts; undefined if the default user can, or if no user can. Files
 * belong to the user of this machine, whose uid may differ from that of the container's default user. `problems` are
 * sentences with a remedy.
 */
export function userForMounts(mounts: readonly MountAccess[]): {
  readonly user: string | undefined;
  readonly problems: readonly string[];
} {
  const closed = mounts.filter(mount => !mayUse(mount, packageUser));
  const [first] = closed;
  if (!first) return { user: undefined, problems: [] };
  // Never choose root without asking: root in a container has access to all mounts.
  if (first.uid !== 0 && mounts.every(mount => mayUse(mount, first)))
    return { user: `${first.uid}:${first.gid}`, problems: [] };
  return { user: undefined, problems: closed.map(mount => problemOf(mount, packageUser)) };
}

/**
 * Returns a sentence with a remedy for each mount that its container's user cannot access. Skips images whose entry has
 * no `user`, as only the engine knows theirs, and paths that this process cannot see.
 */
export async function mountWarnings(
  servers: readonly Pick<ServerConfig, 'name' | 'enabled' | 'launch'>[],
): Promise<readonly string[]> {
  // On other platforms the engine runs in a virtual machine, which maps the owners of files.
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

/** Returns the uid and gid of a server's container; undefined if they are unknown or there is no container. */
function userOf({ runtime, package: spec, sandbox }: LocalLaunch): User | undefined {
  if (runtime === 'process') return undefined;
  if (sandbox.user === undefined) return spec && packageUser;
  const [, uid, gid = uid] = /^(\d+)(?::(\d+))?$/.exec(sandbox.user) ?? [];
  return uid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

async function accessOf({
  source,
  readOnly,
}: Sandbox['mounts'][number]): Promise<MountAccess | undefined> {
  const found = await stat(source).catch(() => undefined); // A hub in a container does not see all paths.
  if (!found) return undefined;
  const { uid, gid, mode } = found;
  return { source, isWritable: !readOnly, isFolder: found.isDirectory(), uid, gid, mode };
}

function problemOf({ source, isWritable, uid, gid, isFolder }: MountAccess, user: User): string {
  const act = isWritable ? 'write to' : 'read';
  const bits = `${isWritable ? 'rw' : 'r'}${isFolder ? 'X' : ''}`;
  const { uid: own } = user;
  return `it runs as user ${own}, who cannot ${act} ${source}, which belongs to ${uid}:${gid}. Allow it with "setfacl -R -m u:${own}:${bits} ${shellWord(source)}", or add "user": "${uid}:${gid}" to its entry`;
}

/** True if the user has the access that the mount needs. */
function mayUse({ uid, gid, mode, isFolder, isWritable }: MountAccess, user: User): boolean {
  const shift = user.uid === uid ? 6 : user.gid === gid ? 3 : 0;
  const wanted = 4 + (isWritable ? 2 : 0) + (isFolder ? 1 : 0);
  return user.uid === 0 || ((mode >> shift) & wanted) === wanted;
}
