import { HubError } from '#core';
import { findBranch } from './commits.ts';
import type { Driver } from './driver.ts';
import { createDriverFolder } from './folder.ts';
import type { Git, GitPlaces } from './git.ts';
import { requireCommitId } from './objects.ts';
import type { CommitId, Worktree, Worktrees } from './repository-types.ts';
import { branchOf, isTaskId, requireTaskId } from './task-branch.ts';
import { createWorktree } from './worktree.ts';

/**
 * Folder of the hub's data, relative to the top folder. It is in the git folder, the only place where git does not look
 * for the user's files.
 */
const home = '.git/agenthub';

type Needs = {
  readonly driver: Driver;
  readonly places: GitPlaces;
  readonly exclusive: <T>(work: () => Promise<T>) => Promise<T>;
};

/**
 * Manages worktrees in `.git/agenthub/worktrees`. A file in `ready` marks each complete worktree; one without it
 * remains of an interrupted operation. `git worktree prune` is never used: the user's other worktrees do not exist in
 * the container, and the command would forget them.
 */
export function createWorktrees(root: string, { driver, places, exclusive }: Needs): Worktrees {
  const { objects } = places;
  const ready = createDriverFolder(driver, `${home}/ready`);
  const folders = createDriverFolder(driver, `${home}/worktrees`);

  const nameOf = (taskId: string) => `agenthub-${requireTaskId(taskId)}`;
  const pathOf = (taskId: string) => `${root}/${home}/worktrees/${nameOf(taskId)}`;
  const gitOf = (taskId: string): Git =>
    places.worktree({
      gitFolder: `${root}/.git/worktrees/${nameOf(taskId)}`,
      path: pathOf(taskId),
    });

  const make = (taskId: string): Worktree =>
    createWorktree(
      { taskId, branch: branchOf(taskId), path: pathOf(taskId) },
      { git: gitOf(taskId), exclusive },
    );

  const isReady = async (taskId: string, signal: AbortSignal) =>
    (await ready.read(requireTaskId(taskId), 100, signal)) !== undefined &&
    // The folder may be missing, if a person has removed it.
    (await folders.folders(signal)).includes(nameOf(taskId));

  /** True if the worktree of this name in git is not in the hub's folder, because a person has made it. */
  async function isForeign(taskId: string, signal: AbortSignal): Promise<boolean> {
    const known = createDriverFolder(driver, `.git/worktrees/${nameOf(taskId)}`);
    const link = await known.read('gitdir', 8_192, signal);
    return link !== undefined && link.toString().trim() !== `${pathOf(taskId)}/.git`;
  }

  async function discard(taskId: string, signal: AbortSignal): Promise<void> {
    const name = nameOf(taskId);
    if (await isForeign(taskId, signal))
      throw new HubError(
        'HUB_REPOSITORY_REFUSED',
        `${root}: the worktree ${name} belongs to somebody else. Rename the task, or remove that worktree`,
      );
    await ready.remove([taskId], signal);
    await createDriverFolder(driver, `${home}/worktrees/${name}`).removeAll(signal);
    await createDriverFolder(driver, `.git/worktrees/${name}`).removeAll(signal);
  }

  /**
   * Rejects with HUB_REPOSITORY_REFUSED if a worktree has another branch checked out than that of its task, because a
   * reset would move that branch. It happens if a person switches branches, or if a repository comes with a worktree or
   * with a symbolic ref in place of the branch.
   */
  async function requireBranch(taskId: string, signal: AbortSignal): Promise<void> {
    const { stdout } = await gitOf(taskId)(
      ['symbolic-ref', '--quiet', 'HEAD'],
      { codes: [0, 1, 128] },
      signal,
    );
    const found = stdout.toString().trim();
    if (found === `refs/heads/${branchOf(taskId)}`) return;
    const instead = found === '' ? '' : `, but ${found}`;
    throw new HubError(
      'HUB_REPOSITORY_REFUSED',
      `${pathOf(taskId)} does not have the branch ${branchOf(taskId)} checked out${instead}. Check it out there, or remove the folder`,
    );
  }

  /** Removes the locks of a killed git process. No other git process of the hub runs at the same time. */
  async function unlock(taskId: string, signal: AbortSignal): Promise<void> {
    const locks = ['index.lock', 'HEAD.lock', 'ORIG_HEAD.lock'];
    await createDriverFolder(driver, `.git/worktrees/${nameOf(taskId)}`).remove(locks, signal);
    await createDriverFolder(driver, '.git/refs/heads/agenthub').remove([`${taskId}.lock`], signal);
  }

  async function recover(taskId: string, signal: AbortSignal): Promise<void> {
    await unlock(taskId, signal);
    await requireBranch(taskId, signal);
  }

  async function create(taskId: string, base: CommitId, signal: AbortSignal): Promise<void> {
    await discard(taskId, signal);
    const branch = branchOf(taskId);
    const isOld = (await findBranch(objects, branch, signal)) !== undefined;
    const target = isOld ? [pathOf(taskId), branch] : ['-b', branch, pathOf(taskId), base];
    await places.userTree(['worktree', 'add', '--quiet', '--no-checkout', ...target], {}, signal);
    await requireBranch(taskId, signal);
    await gitOf(taskId)(['reset', '--hard', '--quiet'], { timeoutMs: 300_000 }, signal);
    await ready.write([{ path: taskId, content: '' }], false, signal);
  }

  return {
    add: (taskId, base, signal) =>
      exclusive(async () => {
        requireCommitId(base);
        if (!(await isReady(taskId, signal))) await create(taskId, base, signal);
        else await recover(taskId, signal);
        return make(taskId);
      }),
    find: (taskId, signal) =>
      exclusive(async () => {
        if (!(await isReady(taskId, signal))) return undefined;
        await recover(taskId, signal);
        return make(taskId);
      }),
    remove: (taskId, signal) =>
      exclusive(async () => {
        const was = await isReady(taskId, signal);
        await discard(taskId, signal);
        return was;
      }),
    prune: signal =>
      exclusive(async () => {
        const complete = new Set(await ready.list(signal));
        const names = [
          ...(await folders.folders(signal)),
          ...(await createDriverFolder(driver, '.git/worktrees').folders(signal)),
        ];
        const tasks = new Set(names.map(name => /^agenthub-(.+)$/.exec(name)?.[1] ?? ''));
        for (const taskId of tasks)
          if (!complete.has(taskId) && isTaskId(taskId) && !(await isForeign(taskId, signal)))
            await discard(taskId, signal);
      }),
  };
}
