import type { TaskPhase, TaskState, TaskStep } from './task-state.ts';

/** Returns the model that the contract names for a phase. */
export const modelOf = ({ contract: { roles } }: Pick<TaskState, 'contract'>, phase: TaskPhase) =>
  phase === 'implementer' ? roles.implementer : roles.local_reviewer;

/** Returns the number of the current attempt in a phase. */
export const attemptOf = (task: TaskState, phase: TaskPhase): number =>
  phase === 'implementer' ? task.attempt : task.reviewAttempt;

/** Returns the phase that a task with this status has to run next. */
export function phaseOf(status: TaskState['status']): TaskPhase | undefined {
  if (status === 'pending_implementer') return 'implementer';
  return status === 'pending_local_review' ? 'local_review' : undefined;
}

/** Returns the phase to which a step belongs; undefined if no model is involved. */
export function phaseIn(step: TaskStep): TaskPhase | undefined {
  switch (step.kind) {
    case 'asking':
      return step.phase;
    case 'applying':
    case 'committing':
      return 'implementer';
    case 'reading':
    case 'recording':
      return 'local_review';
    default:
      return undefined;
  }
}
