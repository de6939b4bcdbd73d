import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { HubError, ignoreMissing } from '#core';
import type { LaunchSpec } from '#runtimes';

const mib = 2 ** 20;
const maxLineBytes = 48 * mib;
const minute = 60_000;

export type RepositoryPlace = {
  /** Where git runs: in a container, or as a child process of the hub. */
  readonly runsIn: 'docker' | 'process';
  /** True if the hub runs in a container: then its users are not those of the engine's machine. */
  readonly inContainer: boolean;
  /** Folder of the hub's build contexts. */
  readonly imagesDir: string;
};

/** The user that owns a folder. */
type Owner = { readonly uid: number; readonly gid: number };

/** Returns the name of a folder's container. It begins with a dot, as no server's name does. */
export const driverName = (root: string): string =>
  `.git-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`;

/** Returns the launch spec of the driver of a folder: a container that mounts only this folder, or a child process. */
export async function driverSpec(root: string, place: RepositoryPlace): Promise<LaunchSpec> {
  const owner = await ownerOf(root);
  requireUser(root, owner, place);
  const common = {
    server: driverName(root),
    env: {},
    maxLineBytes,
    maxWaitingBytes: maxLineBytes,
    timeoutMs: minute,
  };
  if (place.runsIn === 'process')
    return {
      ...common,
      target: {
        kind: 'process',
        command: process.execPath,
        // Helper threads of V8 would delay calls. The image has the same option.
        args: ['--single-threaded', join(place.imagesDir, 'git', 'driver.mjs'), root],
      },
    };
  return {
    ...common,
    target: {
      kind: 'docker',
      image: { context: 'git' },
      args: [root],
      user: userOf(owner),
      network: 'none',
      // The same path in the container, because git stores absolute paths of worktrees.
      mounts: [{ source: root, target: root, readOnly: false }],
      volumes: [],
      limits: {
        memoryBytes: 1_024 * mib,
        cpus: 1,
        pids: 64,
        scratchBytes: 64 * mib,
        volumeBytes: 0,
      },
      logs: 'none',
    },
  };
}

/** Returns the user that git runs as. Files that git creates get the owner's group, unless that is root's. */
export const userOf = ({ uid, gid }: Owner): string => `${uid}:${gid === 0 ? uid : gid}`;

/** Returns the owner of the folder's `.git`, or of the folder if it has none. */
export async function ownerOf(root: string): Promise<Owner> {
  const gitFolder = await lstat(join(root, '.git')).catch(ignoreMissing);
  const { uid, gid } = gitFolder ?? (await lstat(root));
  return { uid, gid };
}

/**
 * Throws HUB_REPOSITORY_REFUSED if the hub does not act for the owner of a folder. A hub that runs as root acts for all
 * users, but only in containers. A hub in a container, which creates containers by the broker, acts for all users but
 * root.
 */
function requireUser(root: string, { uid }: Owner, { runsIn, inContainer }: RepositoryPlace): void {
  const own = process.getuid?.() ?? uid;
  const refuse = (why: string) => new HubError('HUB_REPOSITORY_REFUSED', `${root} ${why}`);
  if (runsIn === 'docker' && inContainer) {
    if (uid === 0) throw refuse('belongs to root. Give it to a user: chown -R 1000:1000');
    return;
  }
  if (uid === own || (runsIn === 'docker' && own === 0)) return;
  throw refuse(
    runsIn === 'process'
      ? `belongs to the user ${uid}, and the hub runs as ${own}. Without Docker git opens only repositories of its own user`
      : `belongs to the user ${uid}, and the hub runs as ${own}. Run the hub as that user`,
  );
}
