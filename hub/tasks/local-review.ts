import { HubError } from '#core';
import { readReview } from './review-answer.ts';
import type { TaskResult } from './task-events.ts';
import {
  type TaskPlace,
  baseOf,
  committedBefore,
  discardChanges,
  lastCommitOf,
  trailersOf,
  worktreeOf,
} from './task-place.ts';
import type { LocalReview, TaskState } from './task-state.ts';

/** Maximum size of a diff that a model reviews, in bytes. */
const maxDiffBytes = 256 * 1024;

/** Returns the committed diff of the whole task. Rejects with HUB_CONTEXT_FULL if it is too large for a review. */
export async function readChange(
  task: TaskState,
  { repository }: TaskPlace,
  signal: AbortSignal,
): Promise<string> {
  const { text, isTruncated } = await repository.diff(
    { from: baseOf(task), to: lastCommitOf(task), maxBytes: maxDiffBytes },
    signal,
  );
  if (!isTruncated) return text;
  throw new HubError(
    'HUB_CONTEXT_FULL',
    `the change of ${task.contract.task_id} has more than ${maxDiffBytes} bytes, which no local model reviews. Review it by hand, or split the task`,
  );
}

export async function readReviewAnswer(
  task: TaskState,
  answer: string,
  place: TaskPlace,
  signal: AbortSignal,
): Promise<TaskResult> {
  const read = readReview(answer, await readChange(task, place, signal));
  return 'problem' in read
    ? { type: 'malformed', problem: read.problem }
    : { type: 'reviewed', review: read.review };
}

/** Commits the checkpoint of the reviewer, an empty commit, unless a killed run has already committed it. */
export async function commitReview(
  task: TaskState,
  review: LocalReview,
  place: TaskPlace,
  signal: AbortSignal,
): Promise<TaskResult> {
  const worktree = await worktreeOf(task, place, signal);
  const outcome = review.critical ? 'critical' : review.passed ? 'passed' : 'not passed';
  let commit = await committedBefore(task, 'local_review', place, worktree, signal);
  if (commit === undefined) {
    // Discards changes by a person since the last checkpoint, as they have not been checked.
    await discardChanges(task, worktree, signal);
    commit = await worktree.commit(
      {
        message: `Review ${task.contract.task_id}\n\nThe local review: ${outcome}. Issues: ${review.issues.length}.`,
        trailers: trailersOf(task, 'local_review'),
        allowEmpty: true,
      },
      signal,
    );
  }
  return { type: 'committed', commit, files: task.changedFiles };
}
