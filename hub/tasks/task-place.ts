import type { Repositories, Repository, Worktree } from '#repositories';
import { HubError } from '#core';
import { modelOf } from './phases.ts';
import type { TaskCheckpoint, TaskPhase, TaskState } from './task-state.ts';

/** The repository in which a step of a task works. */
export type TaskPlace = {
  readonly repositories: Pick<Repositories, 'runAcceptance'>;
  readonly repository: Repository;
};

/** Returns the commit on which the next phase builds. Throws HUB_TASK_STATE if the task was not set up. */
export function lastCommitOf({ checkpoints, base, contract }: TaskState): string {
  const commit = checkpoints.at(-1)?.commit ?? base;
  if (commit !== undefined) return commit;
  throw new HubError(
    'HUB_TASK_STATE',
    `task ${contract.task_id} has no branch yet: set it up first`,
  );
}

export function baseOf({ base, contract }: TaskState): string {
  if (base !== undefined) return base;
  throw new HubError('HUB_TASK_STATE', `task ${contract.task_id} has no base yet: set it up first`);
}

/** Returns the worktree of a task, and creates it again if it was removed. */
export async function worktreeOf(
  task: TaskState,
  { repository }: TaskPlace,
  signal: AbortSignal,
): Promise<Worktree> {
  const id = task.contract.task_id;
  const found = await repository.worktrees.find(id, signal);
  return found ?? (await repository.worktrees.add(id, lastCommitOf(task), signal));
}

/**
 * Rejects with HUB_TASK_STATE if the branch is not at the task's last commit: the next phase would discard commits of
 * another hub or a person.
 */
export async function requireUnmoved(
  task: TaskState,
  worktree: Worktree,
  signal: AbortSignal,
): Promise<void> {
  const expected = lastCommitOf(task);
  const head = await worktree.head(signal);
  if (head === expected) return;
  const id = task.contract.task_id;
  const to = task.checkpoints.length === 0 ? 'base' : expected.slice(0, 12);
  throw new HubError(
    'HUB_TASK_STATE',
    `the branch ${task.branch} is at ${head.slice(0, 12)}, which another hub or a person has committed, and not at ${expected.slice(0, 12)}. Go on where it was made, or discard it with "agenthub task rollback ${id} --to ${to}"`,
  );
}

/** Discards all changes since the task's last commit. Rejects as `requireUnmoved` does, before anything is discarded. */
export async function discardChanges(
  task: TaskState,
  worktree: Worktree,
  signal: AbortSignal,
): Promise<void> {
  await requireUnmoved(task, worktree, signal);
  await worktree.reset(lastCommitOf(task), signal);
}

/** Trailers of a checkpoint commit. By them, the commit is found after a crash. */
export const trailersOf = (task: TaskState, phase: TaskPhase) => ({
  Task: task.contract.task_id,
  Phase: phase,
  Model: modelOf(task, phase),
  Tokens: String(task.phaseTokens),
  Checkpoint: checkpointNumber(task.checkpoints),
});

const checkpointNumber = (checkpoints: readonly TaskCheckpoint[]) => String(checkpoints.length + 1);

/** Finds a checkpoint of a phase that was committed before a crash, but not recorded in the task. */
export async function committedBefore(
  task: TaskState,
  phase: TaskPhase,
  place: TaskPlace,
  worktree: Worktree,
  signal: AbortSignal,
): Promise<string | undefined> {
  const head = await worktree.head(signal);
  if (head === lastCommitOf(task)) return undefined;
  const trailers = await place.repository.trailers(head, signal);
  const { Task: id, Phase: ofPhase, Checkpoint: number } = trailers;
  const isOurs =
    id === task.contract.task_id &&
    ofPhase === phase &&
    number === checkpointNumber(task.checkpoints);
  return isOurs ? head : undefined;
}
