import type { GateResult, TaskState } from '../../hub/tasks/task-state.ts';
import { newTask } from '../../hub/tasks/new-task.ts';
import { contractOf } from './contracts.ts';

export const passedGate: GateResult = { passed: true, commands: [], faults: [], secrets: [] };

export const stateOf = (changes: Partial<TaskState> = {}): TaskState => ({
  ...newTask({ contract: contractOf(), repository: '/code/app', principal: 'local', at: 0 }),
  ...changes,
});

/** Returns a task whose branch exists. */
export const preparedState = (changes: Partial<TaskState> = {}): TaskState =>
  stateOf({
    status: 'pending_implementer',
    branch: 'agenthub/add-sum',
    baseBranch: 'main',
    base: 'b0',
    ...changes,
  });
