import type { Repositories, Repository, Worktree } from '#repositories';
import { HubError } from '#core';
import type { TaskCheckpoint, TaskPhase, TaskState } from './task-state.ts';

/** Where a step of a task works. */
export type TaskPlace = {
  readonly repositories: Pick<Repositories, 'runAcceptance'>;
  readonly repository: Repository;
};

/** The commit that the next phase builds on. Throws HUB_TASK_STATE for a task that was not set up. */
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

/** The worktree of a task, which is made again if somebody has removed it. */
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
 * Throws HUB_TASK_STATE if the branch is not where the task has left it: the next phase would discard what another hub or a
 * person has committed.
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

/** Trailers of the checkpoint that a phase makes. They find it again after a kill. */
export const trailersOf = (task: TaskState, phase: TaskPhase) => ({
  Task: task.contract.task_id,
  Phase: phase,
  Model:
    phase === 'implementer' ? task.contract.roles.implementer : task.contract.roles.local_reviewer,
  Tokens: String(task.phaseTokens),
  Checkpoint: checkpointNumber(task.checkpoints),
});

const checkpointNumber = (checkpoints: readonly TaskCheckpoint[]) => String(checkpoints.length + 1);

/** The checkpoint of a phase that was committed before a kill, but not recorded. */
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
