import type { TaskContract } from './contract.ts';
import type { TaskState } from './task-state.ts';

/** Returns the contract with the current status and results of the task, as written to its file. Pure. */
export function contractNow(task: TaskState): TaskContract {
  const { contract, totals, review } = task;
  return {
    ...contract,
    status: task.status,
    attempt: task.attempt,
    handoff_data: {
      changed_files: [...task.changedFiles],
      local_review_passed: review?.passed ?? null,
      local_review_issues: review ? [...review.issues] : [],
      tokens: { prompt: totals.promptTokens, completion: totals.completionTokens },
      cost: totals.cost,
      branch: task.branch ?? null,
      checkpoints: task.checkpoints.map(({ phase, commit }) => ({ phase, commit })),
    },
  };
}

export const contractText = (task: TaskState): string =>
  `${JSON.stringify(contractNow(task), undefined, 2)}\n`;
