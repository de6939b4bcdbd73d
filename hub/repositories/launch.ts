import { createHash } from 'node:crypto';
import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { HubError, ignoreMissing } from '#core';
import type { LaunchSpec } from '#runtimes';

const mib = 2 ** 20;
const maxLineBytes = 48 * mib;
const minute = 60_000;

export type RepositoryPlace = {
  /** Where git runs. */
  readonly runsIn: 'docker' | 'process';
  /** True if the hub runs in a container: then the users of the engine's machine are not its own. */
  readonly inContainer: boolean;
  /** Folder of the build contexts. */
  readonly imagesDir: string;
};

/** The user that owns a folder. */
type Owner = { readonly uid: number; readonly gid: number };

/** Name of the container of a folder. Names of servers contain no dot. */
export const driverName = (root: string): string =>
  `.git-${createHash('sha256').update(root).digest('hex').slice(0, 12)}`;

/** The driver for a folder: a container that holds nothing but the folder, or a child process. */
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
        // Helper threads of V8 would stand in the way of calls. The image has the same switch.
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
      // At the same path: git stores absolute paths of worktrees.
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

/** Files that git creates get the owner's group, unless that is root's. */
export const userOf = ({ uid, gid }: Owner): string => `${uid}:${gid === 0 ? uid : gid}`;

/** The owner of the git folder, or of a folder without one. */
export async function ownerOf(root: string): Promise<Owner> {
  const gitFolder = await lstat(join(root, '.git')).catch(ignoreMissing);
  const { uid, gid } = gitFolder ?? (await lstat(root));
  return { uid, gid };
}

/**
 * Throws HUB_REPOSITORY_REFUSED for a folder whose owner the hub does not act for. Only root may act for other users, and
 * not by a process. The broker, which acts for all users, refuses root.
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
