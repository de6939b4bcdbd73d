import { type AskNeeds, askModel } from './ask-model.ts';
import { mergeBranch, prepareBranch, removeWorktree, rollBack } from './branch-steps.ts';
import { applyAnswer, commitAnswer, readSources } from './implement.ts';
import { commitReview, readChange, readReviewAnswer } from './local-review.ts';
import { implementerPrompt, reviewerPrompt } from './prompts.ts';
import { reviewFormat } from './review-answer.ts';
import type { TaskResult } from './task-events.ts';
import { type TaskPlace, requireUnmoved, worktreeOf } from './task-place.ts';
import type { TaskState, TaskStep } from './task-state.ts';

export type PerformNeeds = AskNeeds & {
  /** Returns how `finalize` merges a branch. */
  readonly strategy: () => 'fast_forward' | 'merge_commit';
};

/**
 * Performs the current step of a task and returns its result. Each step can be repeated after a crash. Faults of the
 * infrastructure are thrown.
 */
export async function performStep(
  task: TaskState,
  place: TaskPlace,
  onProgress: (text: string) => void,
  needs: PerformNeeds,
  signal: AbortSignal,
): Promise<TaskResult> {
  const step: TaskStep = task.step;
  switch (step.kind) {
    case 'preparing':
      return await prepareBranch(task, place, signal);
    case 'asking':
      return await ask(task, step, place, onProgress, needs, signal);
    case 'applying':
      return await applyAnswer(task, step.answer, place, needs.clock, signal);
    case 'committing':
      return await commitAnswer(task, step.answer, place, signal);
    case 'reading':
      return await readReviewAnswer(task, step.answer, place, signal);
    case 'recording':
      return await commitReview(task, step.review, place, signal);
    case 'merging':
      return await mergeBranch(task, needs.strategy(), place, signal);
    case 'rolling_back':
      return await rollBack(task, step.commit, place, signal);
    case 'cleaning':
      return await removeWorktree(task, place, signal);
    case 'idle':
      throw new Error('an idle task has no step');
  }
}

async function ask(
  task: TaskState,
  step: Extract<TaskStep, { kind: 'asking' }>,
  place: TaskPlace,
  onProgress: (text: string) => void,
  needs: PerformNeeds,
  signal: AbortSignal,
): Promise<TaskResult> {
  const worktree = await worktreeOf(task, place, signal);
  await requireUnmoved(task, worktree, signal);
  const question =
    step.phase === 'implementer'
      ? { prompt: implementerPrompt(task, await readSources(task, worktree, signal)) }
      : {
          prompt: reviewerPrompt(task, await readChange(task, place, signal)),
          format: reviewFormat(),
        };
  return await askModel(task, step, { ...question, onProgress }, needs, signal);
}
