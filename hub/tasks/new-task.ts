import type { TaskState } from './task-state.ts';

/** Returns the first state of a task, which has only a contract. */
export const newTask = ({
  contract,
  repository,
  principal,
  at,
}: Pick<TaskState, 'contract' | 'principal' | 'repository'> & {
  readonly at: number;
}): TaskState => ({
  contract,
  repository,
  principal,
  status: 'proposal',
  step: { kind: 'idle' },
  isUnattended: false,
  attempt: 1,
  reviewAttempt: 1,
  phaseTokens: 0,
  failures: [],
  checkpoints: [],
  changedFiles: [],
  judgeFails: 0,
  totals: { calls: 0, promptTokens: 0, completionTokens: 0, workMs: 0, cost: 0 },
  createdAt: at,
  updatedAt: at,
  history: [],
});
