import { contractNow } from './contract-now.ts';
import { fittingCommands } from './fitting.ts';
import type { TaskState } from './task-state.ts';
import type { TaskView } from './task-types.ts';

/** A state as people see it. `redact` removes secrets from what models and commands have written. */
export function viewOf(task: TaskState, redact: (text: string) => string): TaskView {
  const { step, isUnattended: _u, phaseTokens: _p, ...rest } = task;
  const contract = contractNow(task);
  return {
    ...rest,
    id: contract.task_id,
    contract,
    doing: step.kind,
    commands: step.kind === 'idle' ? fittingCommands(task) : ['cancel'],
    failures: task.failures.map(failure => ({
      ...failure,
      detail: redact(failure.detail),
      output: redact(failure.output),
    })),
  };
}
