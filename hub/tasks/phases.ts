import type { TaskPhase, TaskState, TaskStep } from './task-state.ts';

/** The phase that a status waits for. */
export function phaseOf(status: TaskState['status']): TaskPhase | undefined {
  if (status === 'pending_implementer') return 'implementer';
  return status === 'pending_local_review' ? 'local_review' : undefined;
}

/** The phase of a step that a model is asked in. */
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
