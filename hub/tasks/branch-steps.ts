import { relative } from 'node:path';
import { HubError } from '#core';
import type { MergeRequest, Repository } from '#repositories';
import type { TaskResult } from './task-events.ts';
import { type TaskPlace, baseOf, requireUnmoved, worktreeOf } from './task-place.ts';
import type { TaskState } from './task-state.ts';

/** Rejects with HUB_TASK_STATE if no branch is checked out, or if there is no commit: a task has nothing to start from. */
export async function requireCheckedOut(
  repository: Repository,
  signal: AbortSignal,
): Promise<void> {
  const { branch, head } = await repository.summary(signal);
  if (branch === undefined || head === undefined)
    throw nothingCheckedOut(repository, head, 'try again');
}

const nothingCheckedOut = ({ root }: Repository, head: string | undefined, next: string) =>
  new HubError(
    'HUB_TASK_STATE',
    `${root}: ${head === undefined ? 'has no commit yet: make one' : 'no branch is checked out: switch to the branch that the task belongs to'}, then ${next}`,
  );

/** Creates the branch and worktree of a task from the checked-out commit, or finds the existing ones. */
export async function prepareBranch(
  task: TaskState,
  { repository }: TaskPlace,
  signal: AbortSignal,
): Promise<TaskResult> {
  const id = task.contract.task_id;
  const { branch: current, head } = await repository.summary(signal);
  const { baseBranch = current } = task;
  if (head === undefined || baseBranch === undefined)
    throw nothingCheckedOut(repository, head, 'run "agenthub task setup" again');
  const worktree = await repository.worktrees.add(id, task.base ?? head, signal);
  const { branch } = worktree;
  if (task.base !== undefined) return { type: 'prepared', branch, baseBranch, base: task.base };
  const found = await worktree.head(signal);
  if (found !== head && (await repository.trailers(found, signal))['Task'] === id) {
    const folder = relative(repository.root, worktree.path);
    throw new HubError(
      'HUB_TASK_EXISTS',
      `${repository.root}: the branch ${branch} has commits of an earlier task ${id}. Delete it: git worktree remove --force ${folder} && git branch -D ${branch}, or choose another task_id`,
    );
  }
  return { type: 'prepared', branch, baseBranch, base: found };
}

/**
 * Merges the branch into its base branch. If they conflict, or the base has uncommitted changes, nothing changes. Rejects
 * with HUB_TASK_STATE if the branch has commits that were not judged. A person may add some to resolve a conflict.
 */
export async function mergeBranch(
  task: TaskState,
  strategy: MergeRequest['strategy'],
  place: TaskPlace,
  signal: AbortSignal,
): Promise<TaskResult> {
  const { repository } = place;
  const { branch, baseBranch, contract, status } = task;
  if (branch === undefined || baseBranch === undefined)
    throw new HubError('HUB_TASK_STATE', `task ${contract.task_id} has no branch`);
  if (status === 'pending_judge_review')
    await requireUnmoved(task, await worktreeOf(task, place, signal), signal);
  const outcome = await repository.merge(
    {
      from: branch,
      into: baseBranch,
      strategy,
      message: `Merge ${branch}`,
      trailers: { Task: contract.task_id },
    },
    signal,
  );
  switch (outcome.kind) {
    case 'merged':
      return { type: 'merged', commit: outcome.commit };
    case 'conflict':
      return {
        type: 'not_merged',
        why: `${branch} conflicts with ${baseBranch} in ${outcome.paths.join(', ')}`,
      };
    case 'dirty':
      if (outcome.paths.length === 0)
        return {
          type: 'not_merged',
          why: `${baseBranch} is checked out in ${outcome.folder}, which the hub cannot update. Run git merge ${branch} there, or switch it to another branch`,
        };
      return {
        type: 'not_merged',
        why: `${baseBranch} is checked out in ${outcome.folder}, which has uncommitted changes: ${outcome.paths.join(', ')}`,
      };
  }
}

export async function rollBack(
  task: TaskState,
  commit: string,
  place: TaskPlace,
  signal: AbortSignal,
): Promise<TaskResult> {
  const worktree = await worktreeOf(task, place, signal);
  await worktree.reset(commit, signal);
  const changes = await place.repository.changes({ from: baseOf(task), to: commit }, signal);
  return { type: 'rolled_back', commit, files: changes.map(({ path }) => path) };
}

/** Removes the worktree. The branch is kept. */
export async function removeWorktree(
  task: TaskState,
  { repository }: TaskPlace,
  signal: AbortSignal,
): Promise<TaskResult> {
  await repository.worktrees.remove(task.contract.task_id, signal);
  await repository.worktrees.prune(signal);
  return { type: 'cleaned' };
}
