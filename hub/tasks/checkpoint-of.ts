import { HubError } from '#core';
import type { TaskState } from './task-state.ts';

/** Finds a checkpoint's commit by a prefix. "base" is the base commit; the default is the last commit but one. */
export function checkpointOf(
  { base, checkpoints, contract }: TaskState,
  wanted: string | undefined,
): string {
  const commits = [base, ...checkpoints.map(({ commit }) => commit)].filter(
    commit => commit !== undefined,
  );
  const found =
    wanted === undefined
      ? [commits.at(-2) ?? commits.at(-1)]
      : wanted === 'base'
        ? [base]
        : commits.filter(commit => commit.startsWith(wanted));
  const [commit] = found;
  if (found.length === 1 && commit !== undefined) return commit;
  throw new HubError(
    'HUB_REQUEST_INVALID',
    `checkpoint: ${JSON.stringify(wanted?.slice(0, 60) ?? '')} is not a checkpoint of ${contract.task_id}: write "base" or one of ${commits.map(one => one.slice(0, 12)).join(', ') || 'none, as it was not set up'}`,
  );
}
