import type { TaskTransition } from './task-events.ts';
import type { TaskPhase } from './task-state.ts';

export const nameOfPhase = (phase: TaskPhase): string =>
  phase === 'implementer' ? 'implementer' : 'local reviewer';

/** Describes an event in one line for the history of the task. */
export function describeEvent(event: TaskTransition): string {
  switch (event.type) {
    case 'setup':
      return 'set up';
    case 'begin':
      return event.kind === 'run' ? 'run began' : `${nameOfPhase(event.kind)} began`;
    case 'judge':
      return `the judge said ${event.verdict}`;
    case 'stalled':
      return `stalled: ${event.cause}`;
    case 'malformed':
      return 'the answer could not be read';
    case 'checked':
      return 'the gate was passed';
    case 'halted':
      return `halted: ${event.code}`;
    case 'budget_spent':
      return `the budget is spent: ${event.what}`;
    case 'not_merged':
      return `not merged: ${event.why}`;
    default:
      return event.type.replaceAll('_', ' ');
  }
}
