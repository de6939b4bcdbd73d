import { contractNow } from './contract-now.ts';
import { fittingCommands } from './fitting.ts';
import { redactedState } from './redacted-state.ts';
import type { TaskState } from './task-state.ts';
import type { TaskView } from './task-types.ts';

/** Returns the allowed commands. During `cleaning`, the task has ended and cannot be cancelled. */
function commandsOf(task: TaskState): readonly string[] {
  if (task.step.kind === 'idle') return fittingCommands(task);
  return task.step.kind === 'cleaning' ? [] : ['cancel'];
}

/** Returns the view of a task for people and programs. `redact` removes secrets from texts of models and commands. */
export function viewOf(state: TaskState, redact: (text: string) => string): TaskView {
  const task = redactedState(state, redact);
  const { step, isUnattended: _u, phaseTokens: _p, ...rest } = task;
  const contract = contractNow(task);
  return {
    ...rest,
    id: contract.task_id,
    contract,
    doing: step.kind,
    commands: commandsOf(task),
  };
}
